"""What one run of the tests of a buggy tree says; the same for warm runs and for fresh sandboxes."""

from collections.abc import Sequence
from dataclasses import dataclass

from components.grading.testrun import TestRun
from components.records.repository import TestStatus
from components.records.task import RejectReason

FAILING = frozenset({TestStatus.FAILED, TestStatus.ERROR, TestStatus.MISSING})
"""A test that passed on the untouched tree and is not even reported any more fails."""


@dataclass(frozen=True)
class Judgement:
    """Tests by outcome, in the order asked for, or why the candidate is refused."""

    failing: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    refused: RejectReason | None = None
    detail: str = ""


def judge(run: TestRun, tests: Sequence[str]) -> Judgement:
    """Tell failing from passing tests. What neither fails nor passes (skipped, say) is left out."""
    if run.timed_out:
        return Judgement(refused=RejectReason.TIMEOUT, detail=f"out of time in {run.hung or 'an import'}")
    if run.killed:
        return Judgement(refused=RejectReason.CRASH, detail=f"ended by {run.killed}")
    statuses = {test: run.statuses.get(test, TestStatus.MISSING) for test in tests}
    return Judgement(
        failing=tuple(test for test, status in statuses.items() if status in FAILING),
        passing=tuple(test for test, status in statuses.items() if status is TestStatus.PASSED),
    )
