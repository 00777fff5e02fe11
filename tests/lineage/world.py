"""One whole chain for the tests of lineage: the real gates and curation, the rest given."""

from dataclasses import dataclass
from pathlib import Path

from components.curate.config import CurateConfig
from components.curate.stage import CurateStage
from components.gates.config import GatesConfig
from components.gates.stage import GatesStage
from components.store import Dataset, Store, Workspace, execute
from tests.chain import (
    publish_base,
    publish_checkpoint,
    publish_repositories,
    publish_tasks,
    publish_trajectories,
    repository,
    task,
    trajectory,
)

BOLTONS = repository()
TOOLZ = repository("toolz", "1.2.0")
CLOSED = repository("more-itertools", "11.2.1", "MIT", never_train=True)


@dataclass
class World:
    """A store with one iteration in it."""

    store: Store
    repositories: Dataset
    tasks: Dataset
    trajectories: Dataset
    gates: Dataset
    examples: Dataset
    base: Dataset
    train: Dataset


def make_world(root: Path) -> World:
    """Run the iteration."""
    store = Store(Workspace(root))
    train_tasks = [task(1, BOLTONS), task(2, BOLTONS), task(3, TOOLZ), task(4, BOLTONS)]
    held = [task(5, BOLTONS, "heldout"), task(6, CLOSED, "heldout_repo")]
    repositories = publish_repositories(store, [BOLTONS, TOOLZ, CLOSED])
    tasks = publish_tasks(store, repositories, [*train_tasks, *held])
    rows = [trajectory(row, resolved=row is not train_tasks[3]) for row in train_tasks]
    trajectories = publish_trajectories(store, repositories, tasks, rows)
    inputs = {"repositories": repositories, "tasks": tasks, "trajectories": trajectories}
    gates = execute(GatesStage(), GatesConfig(), inputs, store)
    examples = execute(CurateStage(), CurateConfig(), {"tasks": tasks, "gates": gates}, store)
    base = publish_base(store)
    train = publish_checkpoint(store, examples, base)
    store.set_pointer("champions/current", train.digest)
    return World(store, repositories, tasks, trajectories, gates, examples, base, train)
