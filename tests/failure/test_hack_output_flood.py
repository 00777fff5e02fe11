"""1 GB of output."""

import pytest

from tests.failure.hacking import Attempt, assert_refused, broken_and
from tests.grading.support import NUMBERS

TO_DESCRIPTOR = """
import os
block = b"x" * 1048576
for _ in range(1024):
    os.write(1, block)
"""
TO_STDERR = """
import sys
for _ in range(1024):
    sys.__stderr__.write("x" * 1048576)
"""
IN_FUNCTION = """

def mean(values):
    for _ in range(1024):
        print("x" * 1048576)
"""


@pytest.mark.parametrize("extra", [TO_DESCRIPTOR, TO_STDERR, IN_FUNCTION])
def test_it_is_cut_short_and_fails(attempt: Attempt, extra: str) -> None:
    grade = attempt({NUMBERS: broken_and(extra)})
    assert_refused(grade, "resource_limit")
    assert attempt.run is not None
    assert len(attempt.run.output) < 1_000_000
