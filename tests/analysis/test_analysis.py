"""Failure classes, paired comparison, next mix."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.analysis.compare import compare
from components.analysis.mix import next_mix
from components.analysis.taxonomy import diagnose
from components.records.evaluation import FailureClass
from components.records.trajectory import ExitStatus, ToolCall
from tests.builders import GOLD, task, trajectory

TESTED = (ToolCall(id="1", name="test", arguments={}),)
ELSEWHERE = GOLD.replace("@@ -10,3 +10,3 @@", "@@ -40,3 +40,3 @@")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"infrastructure": "lost"}, FailureClass.INFRASTRUCTURE),
        ({"status": ExitStatus.MALFORMED, "patch": ""}, FailureClass.MALFORMED_CALL),
        ({"status": ExitStatus.LOOPED}, FailureClass.LOOPED),
        ({"status": ExitStatus.TURN_LIMIT, "patch": ""}, FailureClass.TURNS_EXHAUSTED),
        ({"patch": ""}, FailureClass.EMPTY_PATCH),
        ({"patch": GOLD.replace("core", "other")}, FailureClass.WRONG_FILE),
        ({"patch": ELSEWHERE}, FailureClass.WRONG_PLACE),
        ({"calls": TESTED}, FailureClass.WRONG_FIX),
        ({}, FailureClass.NO_REPRODUCTION),
        ({"visible": False}, FailureClass.WRONG_FIX),
    ],
)
def test_each_failure_has_its_class(changes: dict[str, object], expected: FailureClass) -> None:
    found = diagnose(trajectory(task(), False, **changes), task())  # type: ignore[arg-type]
    assert found is not None
    assert found.failure == expected


def test_a_resolved_rollout_has_no_diagnosis() -> None:
    assert diagnose(trajectory(task(), True), task()) is None


def test_turns_exhausted_says_how_near_it_came() -> None:
    near = ToolCall(
        id="1",
        name="edit",
        arguments={"path": "lib/core.py", "old": "    return x - 1", "new": "    return x"},
    )
    row = trajectory(task(), False, patch="", status=ExitStatus.TURN_LIMIT, calls=(near,))
    found = diagnose(row, task())
    assert found is not None
    assert found.detail == "edited the right line"


def test_the_difference_is_paired() -> None:
    tasks = [task(str(n)) for n in range(40)]
    base = [trajectory(t, False, model="b") for t in tasks]
    trained = [trajectory(t, n % 2 == 0, model="t") for n, t in enumerate(tasks)]
    found = compare(base, trained, suite="heldout", setting="visible", resamples=2000, seed=0)
    assert found.difference == pytest.approx(0.5)
    assert 0.3 < found.low < 0.5 < found.high < 0.7
    again = compare(base, trained, suite="heldout", setting="visible", resamples=2000, seed=0)
    assert again == found


def test_tasks_that_only_one_side_has_do_not_count() -> None:
    found = compare(
        [trajectory(task("a"), False)],
        [trajectory(task("a"), True), trajectory(task("b"), True)],
        suite="heldout",
        setting="visible",
        resamples=100,
        seed=0,
    )
    assert (found.tasks, found.low, found.high) == (1, 1.0, 1.0)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), st.booleans()), max_size=30))
def test_mix_weights_sum_to_one_and_drop_nobody(results: list[tuple[str, bool]]) -> None:
    tasks = {t.id: t for t in (task("train", split="train", strategy=f"procedural.{s}") for s in "xyz")}
    rows = []
    for index, (strategy, resolved) in enumerate(results):
        held = task(str(index), strategy=f"procedural.{strategy}")
        tasks[held.id] = held
        rows.append(trajectory(held, resolved))
    mix = next_mix(tasks, rows, floor=0.05)
    assert len(mix) == 3
    assert sum(row.weight for row in mix) == pytest.approx(1)
    assert all(row.weight > 0 for row in mix)


def test_what_is_sometimes_solved_weighs_most() -> None:
    tasks = {t.id: t for t in (task("train", split="train", strategy=f"procedural.{s}") for s in "ab")}
    held = [task(str(n), strategy=f"procedural.{'ab'[n % 2]}") for n in range(20)]
    tasks |= {t.id: t for t in held}
    rows = [trajectory(t, t.strategy.endswith("a") and n % 4 == 0) for n, t in enumerate(held)]
    weights = {row.strategy: row.weight for row in next_mix(tasks, rows, floor=0.05)}
    assert weights["procedural.a"] > weights["procedural.b"]
