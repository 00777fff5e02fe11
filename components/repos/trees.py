"""Trees of repository versions in the workspace: made from their pins, and made again when they are gone."""

import tempfile
from pathlib import Path

from components.records.base import canonical_json
from components.records.errors import InputError
from components.records.repository import Environment, Repository, Source
from components.repos.environments import restore_environment
from components.repos.layout import import_roots
from components.repos.sources import fetch
from components.repos.tree import publish, staging, tree_digest
from components.sandbox.trees import environment_path, repo_path
from components.store.dataset import Dataset
from components.store.digests import sha256_bytes
from components.store.workspace import Workspace


def obtain_tree(workspace: Workspace, source: Source, *, version: str, key: str) -> tuple[Path, str]:
    """The tree of a pinned source and its digest; fetched unless it is there.

    A local folder is always read again, since its pin is the digest of what it holds now.
    """
    note = workspace.cache / "sources" / sha256_bytes(canonical_json([source.model_dump(), version]).encode())
    if source.kind != "path" and note.exists():
        path = repo_path(workspace, note.read_text())
        if path.is_dir():
            return path, note.read_text()
    path, digest = _build(workspace, source, version, key)
    note.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False) as partial:
        partial.write(digest)
    Path(partial.name).rename(note)
    return path, digest


def ensure_trees(workspace: Workspace, repositories: Dataset) -> None:
    """Make what a `repositories` dataset names and the workspace lacks, checked against its digests.

    For a stage that was cached on a machine, or in a workspace, where nothing has been built yet.

    Raises:
        InputError: A source no longer gives what was recorded.
        InfrastructureError: No network, another Python, no space.
    """
    environments = {row.digest: row for row in repositories.rows("environments", Environment)}
    for repository in repositories.rows("repositories", Repository):
        restore(workspace, repository, environments[repository.environment])


def restore(workspace: Workspace, repository: Repository, environment: Environment) -> None:
    """Make both trees of one repository again, unless they are there."""
    tree = repo_path(workspace, repository.tree_sha256)
    if tree.is_dir() and tree_digest(tree) != repository.tree_sha256:
        raise InputError(f"{repository.id}: {tree} was changed; delete that folder and run again")
    if not tree.is_dir():
        _, found = _build(workspace, repository.source, repository.version, repository.id)
        if found != repository.tree_sha256:
            raise InputError(
                f"{repository.id}: its source gives tree {found[:12]} and not {repository.tree_sha256[:12]}; "
                "run the repositories stage again"
            )
    if not environment_path(workspace, environment.digest).is_dir():
        restore_environment(workspace, environment, import_roots(environment.recipe, tree))


def _build(workspace: Workspace, source: Source, version: str, key: str) -> tuple[Path, str]:
    with staging(workspace.environments) as private:
        scratch, tree = private / "scratch", private / "tree"
        for folder in (scratch, tree):
            folder.mkdir()
        cache = workspace.cache / "sdists"
        digest = fetch(source, version=version, key=key, cache=cache, scratch=scratch, target=tree)
        target = repo_path(workspace, digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        publish(tree, target)
    return target, digest
