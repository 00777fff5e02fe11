"""Trees of repository versions in the workspace: made from their pins, and made again when they are gone."""

from pathlib import Path

from components.records.errors import CorruptionError, InputError
from components.records.repository import Environment, Repository, Source
from components.repos.environments import restore_environment
from components.repos.layout import import_roots
from components.repos.sources import fetch
from components.repos.tree import keep, publish, staging
from components.sandbox.trees import repo_path
from components.store.dataset import Dataset
from components.store.digests import sha256_json, sha256_tree
from components.store.workspace import Workspace


def obtain_tree(workspace: Workspace, source: Source, *, version: str, key: str) -> tuple[Path, str]:
    """The tree of a pinned source and its digest; fetched unless it is there.

    A local folder is always read again, since its pin is the digest of what it holds now.

    Raises:
        ConfigError: The source does not exist, or is not what was pinned.
        CorruptionError: The tree that is there was changed.
    """
    name = sha256_json([source.model_dump(mode="json"), version])
    note = workspace.cache / "sources" / name
    if source.kind != "path" and note.exists() and _there(workspace, note.read_text()):
        return repo_path(workspace, note.read_text()), note.read_text()
    with staging(workspace, workspace.cache / "trees", name) as private:
        scratch, tree = private / "scratch", private / "tree"
        for folder in (scratch, tree):
            folder.mkdir()
        sdists = workspace.cache / "sdists"
        digest = fetch(source, version=version, key=key, cache=sdists, scratch=scratch, target=tree)
        if not _there(workspace, digest):
            publish(tree, repo_path(workspace, digest))
        keep(note, digest)
    return repo_path(workspace, digest), digest


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
    if not _there(workspace, repository.tree_sha256):
        _, found = obtain_tree(workspace, repository.source, version=repository.version, key=repository.id)
        if found != repository.tree_sha256:
            raise InputError(
                f"{repository.id}: its source gives tree {found[:12]} and not {repository.tree_sha256[:12]}; "
                "run the repositories stage again"
            )
    tree = repo_path(workspace, repository.tree_sha256)
    restore_environment(workspace, environment, import_roots(environment.recipe, tree))


def _there(workspace: Workspace, digest: str) -> bool:
    """Whether a tree is in its place and is what its place says."""
    path = repo_path(workspace, digest)
    if not path.is_dir():
        return False
    found = sha256_tree(path)
    if found != digest:
        raise CorruptionError(path, digest, found)
    return True
