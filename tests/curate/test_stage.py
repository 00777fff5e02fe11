from collections.abc import Sequence
from pathlib import Path

import pytest

from components.curate.config import CurateConfig
from components.curate.stage import CurateStage
from components.records.errors import InputError
from components.records.training import Example
from components.records.trajectory import Trajectory
from components.store import Dataset, Store, Workspace, execute
from tests.chain import publish, publish_repositories, publish_tasks, repository, task, trajectory

REPO = repository()
TASKS = [task(n, REPO) for n in range(1, 5)]


def curate(root: Path, rows: Sequence[Trajectory], config: CurateConfig | None = None) -> Dataset:
    store = Store(Workspace(root))
    tasks = publish_tasks(store, publish_repositories(store, [REPO]), TASKS)
    gates = publish(store, "gates", {"tasks": tasks}, {"accepted": (Trajectory, rows)})
    return execute(CurateStage(), config or CurateConfig(), {"tasks": tasks, "gates": gates}, store)


def test_one_example_for_every_accepted_trajectory(tmp_path: Path) -> None:
    made = curate(tmp_path, [trajectory(row) for row in TASKS])
    rows = made.rows("examples", Example)
    assert {row.task_id for row in rows} == {row.id for row in TASKS} and len(rows) == 4
    assert made.manifest.rejected == {}


def test_the_order_of_the_trajectories_does_not_matter(tmp_path: Path) -> None:
    rows = [trajectory(row) for row in TASKS]
    assert curate(tmp_path / "a", rows).digest == curate(tmp_path / "b", rows[::-1]).digest


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = [trajectory(row) for row in TASKS]
    rows[0] = rows[0].model_copy(update={"steps": rows[0].steps[:2]})
    made = curate(tmp_path, rows, CurateConfig(max_examples=2))
    assert made.manifest.rejected == {"nothing_to_train": 1, "total_cap": 1}


def test_no_example_left_is_refused(tmp_path: Path) -> None:
    row = trajectory(TASKS[0])
    with pytest.raises(InputError, match=r"no example is left \(1 trajectories"):
        curate(tmp_path, [row.model_copy(update={"steps": row.steps[:2]})])


def test_a_trajectory_of_an_unknown_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not among the tasks"):
        curate(tmp_path, [trajectory(task(9, REPO))])
