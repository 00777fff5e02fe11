"""The stage on the tiny repository."""

from pathlib import Path

import pytest

from components.agents.config import ScaffoldConfig
from components.agents.models.config import LocalConfig, ScriptedConfig
from components.distill.config import DistillConfig
from components.distill.keep import best
from components.distill.stage import DistillStage
from components.records.errors import ConfigError, InputError
from components.records.task import Task
from components.records.trajectory import ExitStatus, Timing, Trajectory
from components.store import Dataset, Output, Store, Workspace, execute
from components.training.base_model import BaseModelStage
from components.training.config import BaseModelConfig
from tests.agents.support import SEARCH, SUBMIT, VIEW, edit
from tests.grading.support import one_bug


class Tasks:
    """A stage that writes tasks."""

    name, version = "tasks", 1

    def __init__(self, *tasks: Task) -> None:
        self.tasks = tasks

    def run(self, config: ScaffoldConfig, inputs: object, out: Output) -> None:
        out.write("tasks", self.tasks, Task)


def tasks(dataset: Dataset, count: int, **changes: object) -> list[Task]:
    from components.records.repository import Repository

    environment = dataset.rows("repositories", Repository)[0].environment
    return [
        one_bug().model_copy(
            update={"id": f"tinylib@1.0/procedural.operator/{n:08d}", "environment": environment, **changes}
        )
        for n in range(count)
    ]


def _named(given: list[Task]) -> ScaffoldConfig:
    """A configuration that no other tasks have: the store knows a stage's output by it."""
    return ScaffoldConfig(name=str([task.model_dump() for task in given]))


def distill(workspace: Workspace, repositories: Dataset, given: list[Task], config: DistillConfig) -> Dataset:
    store = Store(workspace)
    made = execute(Tasks(*given), _named(given), {"repositories": repositories}, store)
    return execute(DistillStage(), config, {"repositories": repositories, "tasks": made}, store)


def test_the_oracle_resolves_what_it_is_given(tiny_workspace: Workspace, tiny_dataset: Dataset) -> None:
    given = tasks(tiny_dataset, 3)
    given[2] = given[2].model_copy(update={"split": "heldout"})
    made = distill(tiny_workspace, tiny_dataset, given, DistillConfig(settings=("visible", "hidden")))
    rows = made.rows("trajectories", Trajectory)
    assert sorted({row.task_id for row in rows}) == sorted(task.id for task in given[:2])
    assert len(rows) == 4 and {row.tests_visible for row in rows} == {True, False}
    assert all(row.grade and row.grade.resolved and row.demonstrator for row in rows)
    assert all(row.usage.seconds == 0 for row in rows)  # seconds are evidence, not content
    assert all(row.seconds > 0 for row in made.rows("timings", Timing)) and made.manifest.deterministic


def test_a_share_of_the_tasks_is_rolled_out_without_their_tests(
    tiny_workspace: Workspace, tiny_dataset: Dataset
) -> None:
    given = tasks(tiny_dataset, 3)
    counts = []
    for share in (0.0, 0.5, 1.0):
        config = DistillConfig(settings=("visible", "hidden"), hidden_share=share)
        rows = distill(tiny_workspace, tiny_dataset, given, config).rows("trajectories", Trajectory)
        assert sum(row.tests_visible for row in rows) == 3
        counts.append({row.task_id for row in rows if not row.tests_visible})
    assert not counts[0] and counts[0] <= counts[1] <= counts[2] and len(counts[2]) == 3


def test_what_a_crash_interrupts_ends_the_same(
    tiny_workspace: Workspace, tiny_dataset: Dataset, tmp_path: Path
) -> None:
    given = tasks(tiny_dataset, 3)
    config = DistillConfig(shard_tasks=1, seed=5)
    whole = distill(tiny_workspace, tiny_dataset, given, config)
    again = distill(tiny_workspace, tiny_dataset, given, config)
    assert again.cached and again.digest == whole.digest
    other = distill(tiny_workspace, tiny_dataset, given, config.model_copy(update={"workers": 1}))
    assert other.digest == whole.digest


def test_the_best_attempts_of_each_task_are_kept(tiny_workspace: Workspace, tiny_dataset: Dataset) -> None:
    script = ScriptedConfig(replies=(SEARCH, VIEW, edit("total -= value", "total += value"), SUBMIT))
    config = DistillConfig(model=script, attempts=3, per_task=2)
    made = distill(tiny_workspace, tiny_dataset, tasks(tiny_dataset, 2), config)
    rows = made.rows("trajectories", Trajectory)
    assert [row.attempt for row in rows] == [0, 1, 0, 1]
    assert made.manifest.rejected == {"over_cap": 2}
    assert not any(row.demonstrator for row in rows)


def test_a_checkpoint_can_be_the_teacher(tiny_workspace: Workspace, tiny_dataset: Dataset) -> None:
    store = Store(tiny_workspace)
    base = execute(BaseModelStage(), BaseModelConfig(source="random:tiny"), {}, store)
    given = tasks(tiny_dataset, 1)
    made = execute(Tasks(*given), _named(given), {"repositories": tiny_dataset}, store)
    config = DistillConfig(model=LocalConfig(dtype="float32"))
    rows = execute(
        DistillStage(), config, {"repositories": tiny_dataset, "tasks": made, "checkpoint": base}, store
    ).rows("trajectories", Trajectory)
    assert rows[0].exit_status is ExitStatus.MALFORMED and rows[0].usage.completion_tokens > 0
    assert rows[0].grade is not None and not rows[0].grade.resolved


def test_held_out_tasks_are_never_learnt_from(tiny_workspace: Workspace, tiny_dataset: Dataset) -> None:
    given = tasks(tiny_dataset, 1)
    with pytest.raises(ConfigError, match=r"distill\.splits: 'heldout'"):
        distill(tiny_workspace, tiny_dataset, given, DistillConfig(splits=("train", "heldout")))
    with pytest.raises(InputError, match="nothing to learn from"):
        distill(tiny_workspace, tiny_dataset, tasks(tiny_dataset, 1, split="heldout"), DistillConfig(seed=9))


def test_resolved_and_short_come_first() -> None:
    from tests.agents.test_transcript import agent, trajectory

    def row(attempt: int, turns: int, rewound: int, task: str = "a") -> Trajectory:
        steps = [agent(n + 2, "x", rewound=n < rewound) for n in range(turns + rewound)]
        return trajectory(*steps).model_copy(
            update={"id": f"{task}#{attempt}", "task_id": task, "attempt": attempt}
        )

    rows = [row(0, 5, 0), row(1, 3, 4), row(2, 4, 0), row(3, 3, 0), row(0, 9, 0, "b")]
    assert [item.id for item in best(rows, 2)] == ["a#1", "a#3", "b#0"]
