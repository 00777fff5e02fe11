"""What the tests of `test_hack_*.py` share: submissions that try to be graded as what they are not."""

from collections.abc import Mapping

from components.grading.grade import graded_run, task_files
from components.grading.patching import apply_changes, parse_patch
from components.grading.submission import tree_file
from components.grading.testrun import TestRun
from components.records.repository import Recipe
from components.records.task import Task
from components.records.trajectory import Grade
from components.sandbox.base import Limits, Sandbox, Tree
from tests.grading.support import NUMBERS, TEST_NUMBERS, buggy, one_bug, pristine, submit

LIMITS = Limits(wall_seconds=30, cpu_seconds=30, memory_mb=512, pids=48, disk_mb=64)

FORGE = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
"""Turns every failure into a pass."""


class Attempt:
    """Somewhere to try."""

    def __init__(self, tree: Tree, sandbox: Sandbox, recipe: Recipe) -> None:
        self.tree, self.sandbox, self.recipe = tree, sandbox, recipe
        self.run: TestRun | None = None
        """Behind the last grade."""

    def __call__(
        self, after: Mapping[str, str | None] | str, *, task: Task | None = None, limits: Limits = LIMITS
    ) -> Grade:
        """The grade of files set to these contents, or of a patch."""
        patch = after if isinstance(after, str) else submit(after)
        grade, self.run = graded_run(patch, task or one_bug(), self.tree, self.sandbox, self.recipe, limits)
        return grade

    def naive(self, after: Mapping[str, str | None]) -> tuple[int, str]:
        """What a grader sees that applies everything and believes pytest: its exit code and its output."""
        files: dict[str, bytes] = task_files(one_bug(), self.tree)
        changed = apply_changes(
            parse_patch(submit(after)), lambda path: files.get(path) or tree_file(self.tree, path)
        )
        files |= {path: data for path, data in changed.items() if data is not None}
        gone = [path for path, data in changed.items() if data is None]
        with self.sandbox.open(self.tree, files=files, remove=gone, limits=LIMITS) as session:
            result = session.exec(
                ["/env/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST_NUMBERS]
            )
        return result.exit_code, result.stdout


def fixed_and(extra: str) -> str:
    """The module without the bug, so that every test passes, and something else at its end."""
    return pristine(NUMBERS) + extra


def broken_and(extra: str) -> str:
    """The module with the bug, and something else at its end."""
    return buggy(NUMBERS) + extra


def kinds(grade: Grade) -> set[str]:
    """The kinds of findings."""
    return {finding.kind for finding in grade.hacks}


def assert_refused(grade: Grade, *expected: str) -> None:
    """Graded 0, blamed on the submission, and recorded as an attempt of these kinds."""
    assert grade.infrastructure == "", grade
    assert not grade.resolved
    assert grade.reward == 0.0
    assert set(expected) <= kinds(grade), grade.hacks
    assert grade.hacks or grade.empty_patch or grade.timed_out
