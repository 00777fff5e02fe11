"""Training on what is held out is refused: a broken split stops the stage, a look-alike is set aside.

The second half (look-alikes) is in tests/gates/test_stage.py, on the run that it shares.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from components.curate.config import CurateConfig
from components.curate.stage import CurateStage
from components.gates.config import GatesConfig
from components.gates.stage import GatesStage
from components.records.errors import InputError
from components.records.task import Task
from components.records.trajectory import Trajectory
from components.store import Dataset, Store, Workspace, execute
from tests.chain import (
    publish,
    publish_repositories,
    publish_tasks,
    publish_trajectories,
    repository,
    task,
    trajectory,
)

BOLTONS = repository()
CLOSED = repository("more-itertools", "11.2.1", "MIT", never_train=True)


def gate(root: Path, tasks: Sequence[Task], rows: Sequence[Trajectory]) -> Dataset:
    store = Store(Workspace(root))
    repositories = publish_repositories(store, [BOLTONS, CLOSED])
    published = publish_tasks(store, repositories, tasks)
    trajectories = publish_trajectories(store, repositories, published, rows)
    inputs = {"repositories": repositories, "tasks": published, "trajectories": trajectories}
    return execute(GatesStage(), GatesConfig(), inputs, store)


def test_a_function_on_both_sides_stops_the_stage(tmp_path: Path) -> None:
    train = task(1, BOLTONS)
    held = task(2, BOLTONS, "heldout", path=train.path, function=train.function)
    with pytest.raises(
        InputError, match=r"split failed on 1 of 2 rows.*function boltons/module_1.py:function_1"
    ):
        gate(tmp_path, [train, held], [trajectory(train)])


def test_a_closed_repository_among_the_training_tasks_stops_the_stage(tmp_path: Path) -> None:
    train = task(1, CLOSED)
    with pytest.raises(InputError, match=r"split failed on 1 of 1 rows.*repository more-itertools"):
        gate(tmp_path, [train], [trajectory(train)])


def test_nothing_is_published_when_a_gate_stops(tmp_path: Path) -> None:
    train = task(1, CLOSED)
    with pytest.raises(InputError):
        gate(tmp_path, [train], [trajectory(train)])
    assert "gates" not in {manifest.stage for manifest in Store(Workspace(tmp_path)).all()}


def test_a_trajectory_of_a_held_out_task_is_not_curated_even_if_the_gates_let_it_pass(tmp_path: Path) -> None:
    store = Store(Workspace(tmp_path))
    held = task(1, BOLTONS, "heldout")
    repositories = publish_repositories(store, [BOLTONS])
    tasks = publish_tasks(store, repositories, [held])
    gates = publish(store, "gates", {"tasks": tasks}, {"accepted": (Trajectory, [trajectory(held)])})
    with pytest.raises(InputError, match="held out"):
        execute(CurateStage(), CurateConfig(), {"tasks": tasks, "gates": gates}, store)
