"""Where the trees lie that the repositories stage builds. A pure look-up: nothing is built here."""

import hashlib
from pathlib import Path
from typing import Protocol

from components.records.errors import InfrastructureError
from components.sandbox.base import Tree


class Places(Protocol):
    """The part of a workspace that holds trees (`components.store.workspace.Workspace`)."""

    @property
    def environments(self) -> Path:
        """Environments by digest."""
        ...

    @property
    def cache(self) -> Path:
        """What can be rebuilt from pinned sources."""
        ...


def environment_path(workspace: Places, environment_digest: str) -> Path:
    """The folder of a built environment."""
    return workspace.environments / environment_digest


def repo_path(workspace: Places, repo_sha256: str) -> Path:
    """The folder of a pristine repository tree."""
    return workspace.cache / "trees" / repo_sha256


def tree_digest(repo_sha256: str, environment_digest: str) -> str:
    """One digest for both halves of a tree."""
    return hashlib.sha256(f"{repo_sha256}\0{environment_digest}".encode()).hexdigest()


def tree_for(workspace: Places, repository_id: str, repo_sha256: str, environment_digest: str) -> Tree:
    """The tree of a repository version.

    Raises:
        InfrastructureError: It is not on this machine.
    """
    environment = environment_path(workspace, environment_digest)
    repo = repo_path(workspace, repo_sha256)
    for kind, path in (("environment", environment), ("tree", repo)):
        if not path.is_dir():
            raise InfrastructureError(
                f"{repository_id}: its {kind} is not at {path}; run the repositories stage to rebuild it"
            )
    return Tree(environment=environment, repo=repo, digest=tree_digest(repo_sha256, environment_digest))
