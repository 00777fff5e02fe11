"""Many rollouts at once, and machines that fail."""

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import pytest

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.loop import run_rollouts
from components.agents.models.base import ModelReply, ModelRequest
from components.agents.models.scripted import ScriptedModel
from components.agents.rollout import Job
from components.records.errors import InfrastructureError, SandboxError
from components.records.task import Task
from components.records.trajectory import ExitStatus, Trajectory, split_timing
from components.sandbox.base import Diff, ExecResult, Limits, Sandbox, Session, Tree
from tests.agents.support import SEARCH, SUBMIT, VIEW, Bench, bash, edit, turns
from tests.grading.support import one_bug

WRONG = edit("total -= value", "total *= value")
FIX = edit("total -= value", "total += value")


def tasks(count: int) -> list[Task]:
    return [
        one_bug().model_copy(update={"id": f"tinylib@1.0/procedural.operator/{n:08d}"}) for n in range(count)
    ]


def by_content(request: ModelRequest) -> str:
    """Says what the seed tells it to, as a sampling model does."""
    turn = sum(message.role == "assistant" for message in request.messages)
    if turn < 2:
        return (SEARCH, VIEW)[turn]
    if turn == 2:
        return (WRONG, bash("echo hello"), FIX)[request.seed % 3]
    return SUBMIT


def contents(rows: Sequence[Trajectory]) -> list[Trajectory]:
    return [split_timing(row)[0] for row in rows]


@pytest.mark.parametrize("lockstep", [False, True])
def test_a_rollout_does_not_depend_on_what_runs_beside_it(bench: Bench, lockstep: bool) -> None:
    jobs = tasks(5)
    alone = [bench.run(ScriptedModel(by_content), [task], attempts=2) for task in jobs]
    together = bench.run(ScriptedModel(by_content, lockstep=lockstep), jobs, attempts=2, concurrency=10)
    few = bench.run(ScriptedModel(by_content, lockstep=lockstep), jobs[::-1], attempts=2, concurrency=3)
    assert contents(together) == contents(few) == contents([row for rows in alone for row in rows])
    assert len({row.id for row in together}) == 10


class Watched(ScriptedModel):
    """Remembers its batches."""

    max_batch = 4

    def __init__(self, pause: Callable[[], float] = lambda: 0.0) -> None:
        super().__init__(by_content, lockstep=True)
        self.batches: list[list[str]] = []
        self.pause = pause

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        self.batches.append([request.task_id for request in requests])
        time.sleep(self.pause())
        return super().generate(requests)


def test_a_model_in_lockstep_gets_full_batches_in_the_order_of_the_jobs(bench: Bench) -> None:
    model, jobs = Watched(), tasks(6)
    bench.run(model, jobs, graded=False, concurrency=6)
    names = [task.id for task in jobs]
    assert model.batches[:4] == [names[:4], names[4:]] * 2


def test_batches_in_lockstep_are_the_same_in_every_run(bench: Bench) -> None:
    """Fewer at once than there are, so that it could matter who is ready first."""
    dice = random.Random(0)
    seen_batches = []
    for _ in range(3):
        model = Watched(lambda: dice.uniform(0, 0.2))
        bench.run(model, tasks(6), graded=False, concurrency=3)
        seen_batches.append(model.batches)
    assert seen_batches[0] == seen_batches[1] == seen_batches[2]


class Broken:
    """A session that is lost at its nth command."""

    def __init__(self, inner: Session, alive: Callable[[], bool]) -> None:
        self.inner, self.alive = inner, alive

    def exec(self, argv: Sequence[str], **options: Any) -> ExecResult:
        if not self.alive():
            raise SandboxError("the sandbox is gone")
        return self.inner.exec(argv, **options)

    def read(self, path: str) -> bytes:
        return self.inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        self.inner.write(path, data)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def files(self) -> list[str]:
        return self.inner.files()

    def diff(self) -> str:
        return self.inner.diff()

    def delete(self, path: str) -> None:
        self.inner.delete(path)

    def diff_report(self) -> Diff:
        return self.inner.diff_report()

    def close(self) -> None:
        self.inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Failing:
    """A sandbox on a machine that fails a number of times."""

    name = "failing"

    def __init__(self, inner: Sandbox, failures: int) -> None:
        self.inner, self.left, self.opened, self.lock = inner, failures, 0, threading.Lock()

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Session:
        self.opened += 1
        return Broken(self.inner.open(tree, files=files, remove=remove, limits=limits), self.alive)

    def alive(self) -> bool:
        with self.lock:
            self.left -= 1
            return self.left < 0


def run(
    bench: Bench,
    sandbox: Sandbox,
    script: Sequence[str],
    retries: int,
    scaffold: ScaffoldConfig | None = None,
) -> Trajectory:
    limits = AgentLimits(infrastructure_retries=retries)
    by_turn = lambda request: script[sum(m.role == "assistant" for m in request.messages)]  # noqa: E731
    [row] = run_rollouts(
        [Job(one_bug(), bench.recipe)],
        ScriptedModel(by_turn),
        scaffold or ScaffoldConfig(),
        sandbox,
        lambda _: bench.tree,
        limits,
    )
    return row


def test_a_lost_sandbox_is_a_fresh_start_and_not_the_models_failure(bench: Bench) -> None:
    sandbox = Failing(bench.sandbox, failures=2)
    row = run(bench, sandbox, [SEARCH, FIX, SUBMIT], retries=2)
    assert row.exit_status is ExitStatus.SUBMITTED and row.grade is not None and row.grade.resolved
    assert len(turns(row)) == 3 and sandbox.opened == 4  # twice lost, once whole, once to grade


def test_a_machine_that_stays_broken_is_infrastructure(bench: Bench) -> None:
    row = run(bench, Failing(bench.sandbox, failures=99), [SEARCH, FIX, SUBMIT], retries=1)
    assert row.exit_status is ExitStatus.INFRASTRUCTURE and row.patch == "" and row.grade is None


def test_a_broken_machine_while_grading_is_infrastructure(bench: Bench) -> None:
    scaffold = ScaffoldConfig(test_after_edit=False)  # so that only grading runs anything
    row = run(bench, Failing(bench.sandbox, failures=99), [FIX, SUBMIT], 1, scaffold)
    assert row.exit_status is ExitStatus.INFRASTRUCTURE and "total += value" in row.patch
    assert row.grade is not None and "the sandbox is gone" in row.grade.infrastructure and row.grade.mask


def test_a_model_that_fails_is_asked_again_and_then_given_up(bench: Bench) -> None:
    asked: list[int] = []

    def script(request: ModelRequest) -> str:
        asked.append(1)
        if len(asked) in (2, 3):
            raise InfrastructureError("no answer")
        return (SEARCH, SUBMIT)[sum(message.role == "assistant" for message in request.messages)]

    [row] = bench.run(script, [one_bug()], graded=False)
    assert row.exit_status is ExitStatus.SUBMITTED and len(asked) == 4 and len(turns(row)) == 2
    asked.clear()
    [row] = bench.run(script, [one_bug()], graded=False, limits=AgentLimits(infrastructure_retries=1))
    assert row.exit_status is ExitStatus.INFRASTRUCTURE and len(turns(row)) == 1


def test_a_defect_of_ours_is_not_swallowed(bench: Bench) -> None:
    def script(request: ModelRequest) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bench.run(script, tasks(3))


def test_callers_hear_of_each_trajectory(bench: Bench) -> None:
    heard: list[str] = []
    jobs = [Job(task, bench.recipe) for task in tasks(3)]
    rows = run_rollouts(
        jobs,
        ScriptedModel([SUBMIT]),
        ScaffoldConfig(),
        bench.sandbox,
        lambda _: bench.tree,
        graded=False,
        on_done=lambda row: heard.append(row.id),
    )
    assert [row.id for row in rows] == heard and len(heard) == 3
