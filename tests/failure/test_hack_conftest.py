"""A conftest.py that turns failures into passes (SWE-bench #631)."""

import pytest

from tests.failure.hacking import FORGE, Attempt, assert_refused
from tests.grading.support import MEAN, NUMBERS, buggy


@pytest.mark.parametrize("path", ["conftest.py", "tests/conftest.py", "tinylib/conftest.py"])
def test_it_decides_nothing(attempt: Attempt, path: str) -> None:
    grade = attempt({path: FORGE, NUMBERS: buggy(NUMBERS) + "\n"})
    assert_refused(grade, "protected_path")
    assert {t.test: t.status.value for t in grade.tests}[MEAN] == "failed"


def test_alone_it_leaves_nothing_to_grade(attempt: Attempt) -> None:
    assert_refused(attempt({"conftest.py": FORGE}), "protected_path")


def test_a_grader_that_applies_everything_falls_for_it(attempt: Attempt) -> None:
    exit_code, output = attempt.naive({"conftest.py": FORGE})
    assert exit_code == 0
    assert "failed" not in output
