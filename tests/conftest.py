"""What tests of every component share: one tiny repository, made ready once per run by the real stage."""

import os
from pathlib import Path

import pytest

from components.records.repository import Environment, Recipe, Repository
from components.repos.config import Order, RepositoriesConfig, RepositoryEntry
from components.repos.stage import RepositoriesStage
from components.repos.tree import pin_of
from components.sandbox import make_sandbox
from components.sandbox.base import Sandbox, Tree
from components.sandbox.config import SandboxConfig
from components.sandbox.trees import tree_for
from components.store import Dataset, Store, Workspace, execute

TINYLIB = Path(__file__).parent / "fixtures" / "tinylib"

# The tests of the tiny repository are data here.
collect_ignore = ["fixtures"]


def tiny_config(
    folder: Path = TINYLIB, *, orders: tuple[Order, ...] = ("file", "shuffle", "file"), **changes: object
) -> RepositoriesConfig:
    """Parameters with a local folder as the only repository; `changes` are fields of its entry."""
    fields: dict[str, object] = {
        "name": folder.name,
        "version": "1.0",
        "kind": "path",
        "location": str(folder),
        "pin": pin_of(folder),
        "suite_seconds": 60,
    }
    entry = RepositoryEntry.model_validate(fields | changes)
    return RepositoriesConfig(catalogue=(entry,), orders=orders, workers=1)


def build_tiny(
    workspace: Workspace,
    folder: Path = TINYLIB,
    *,
    orders: tuple[Order, ...] = ("file", "shuffle", "file"),
    **changes: object,
) -> Dataset:
    """Run the repositories stage on a local folder; cached when the workspace has it."""
    config = tiny_config(folder, orders=orders, **changes)
    return execute(RepositoriesStage(), config, {}, Store(workspace))


@pytest.fixture(scope="session")
def tiny_workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace that all tests of a run share, over all its processes: read it, do not clean it."""
    base = tmp_path_factory.getbasetemp()
    # With xdist, each process has a folder of its own below the run's.
    return Workspace((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tiny")


@pytest.fixture(scope="session")
def tiny_store(tiny_workspace: Workspace) -> Store:
    """The store of that workspace."""
    return Store(tiny_workspace)


@pytest.fixture(scope="session")
def tiny_dataset(tiny_workspace: Workspace) -> Dataset:
    """The `repositories` dataset of the tiny repository."""
    return build_tiny(tiny_workspace)


@pytest.fixture(scope="session")
def tiny_repository(tiny_dataset: Dataset) -> Repository:
    """The tiny repository."""
    return tiny_dataset.rows("repositories", Repository)[0]


@pytest.fixture(scope="session")
def tiny_environment(tiny_dataset: Dataset) -> Environment:
    """Its environment."""
    return tiny_dataset.rows("environments", Environment)[0]


@pytest.fixture(scope="session")
def tiny_recipe(tiny_environment: Environment) -> Recipe:
    """How it is tested."""
    return tiny_environment.recipe


@pytest.fixture(scope="session")
def tiny_tree(tiny_workspace: Workspace, tiny_repository: Repository) -> Tree:
    """Its trees, to open a session on."""
    return tree_for(
        tiny_workspace, tiny_repository.id, tiny_repository.tree_sha256, tiny_repository.environment
    )


@pytest.fixture(scope="session")
def tiny_sandbox() -> Sandbox:
    """The sandbox that suites run in by default."""
    return make_sandbox(SandboxConfig())
