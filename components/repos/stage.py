"""The `repositories` stage: from pinned sources to trees, environments and a baseline."""

import time
from collections.abc import Mapping, Sequence
from functools import partial

from components.records.base import Record
from components.records.repository import BaselineTest, Coverage, Environment, Repository, Source
from components.repos.baseline import take_baseline
from components.repos.config import RepositoriesConfig, RepositoryEntry
from components.repos.environments import build_environment
from components.repos.layout import complete, import_roots
from components.repos.licences import read_licence
from components.repos.trees import obtain_tree
from components.sandbox import make_sandbox
from components.sandbox.trees import tree_for
from components.store import cost
from components.store.dataset import Dataset
from components.store.output import Output
from components.store.workspace import Workspace

TABLES: dict[str, type[Record]] = {
    "repositories": Repository,
    "environments": Environment,
    "baseline": BaselineTest,
    "coverage": Coverage,
}


class RepositoriesStage:
    """Makes every repository of the catalogue ready: one shard each, so one that fails names itself."""

    name = "repositories"
    version = 1

    def run(self, config: RepositoriesConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Fetch, build, measure. Trees and environments stay in the workspace, rows go to the dataset."""
        out.shards(
            TABLES,
            config.catalogue,
            partial(prepare, out.workspace, config),
            key=lambda entry: entry.id,
            shard_size=1,
            workers=config.workers,
            desc="repositories",
        )


def prepare(
    workspace: Workspace, config: RepositoriesConfig, entry: RepositoryEntry
) -> dict[str, Sequence[Record]]:
    """All rows of one repository."""
    source = Source(kind=entry.kind, location=entry.location or entry.name, pin=entry.pin)
    folder, tree_sha256 = obtain_tree(workspace, source, version=entry.version, key=entry.key)
    recipe = complete(entry.recipe, folder, entry.key)
    clock = time.perf_counter()
    environment = build_environment(
        workspace,
        entry.id,
        recipe,
        tools=config.test_tools,
        roots=import_roots(recipe, folder),
        key=entry.key,
        seconds=entry.install_seconds,
    )
    cost(environment_seconds=time.perf_counter() - clock)
    repository = Repository(
        id=entry.id,
        name=entry.name,
        version=entry.version,
        source=source,
        licence=read_licence(folder),
        tree_sha256=tree_sha256,
        environment=environment.digest,
        never_train=entry.never_train,
    )
    tree = tree_for(workspace, entry.id, tree_sha256, environment.digest)
    baseline = take_baseline(
        make_sandbox(config.sandbox), tree, recipe, entry, orders=config.orders, seed=config.seed
    )
    cost(suite_seconds=baseline.suite_seconds, coverage_seconds=baseline.coverage_seconds)
    return {
        "repositories": [repository],
        "environments": [environment],
        "baseline": baseline.tests,
        "coverage": baseline.coverage,
    }
