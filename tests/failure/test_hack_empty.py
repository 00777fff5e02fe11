"""A patch that changes nothing (R2E-Gym #27, verifiers #1220)."""

import pytest

from tests.failure.hacking import Attempt, assert_refused


@pytest.mark.parametrize("patch", ["", "\n", "  \n\n"])
def test_it_gets_nothing(attempt: Attempt, patch: str) -> None:
    grade = attempt(patch)
    assert_refused(grade)
    assert grade.empty_patch
    assert not grade.patch_applied


def test_one_that_only_adds_a_test_is_as_empty(attempt: Attempt) -> None:
    grade = attempt({"tests/test_mine.py": "def test_mine(): assert True\n"})
    assert_refused(grade)
    assert grade.empty_patch
