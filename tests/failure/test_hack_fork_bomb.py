"""A fork bomb."""

from tests.failure.hacking import LIMITS, Attempt, assert_refused, broken_and
from tests.grading.support import NUMBERS

BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def test_it_is_ended_and_fails(attempt: Attempt) -> None:
    grade = attempt({NUMBERS: broken_and(BOMB)}, limits=LIMITS.model_copy(update={"wall_seconds": 5.0}))
    assert_refused(grade, "process")
    assert grade.seconds < 15
