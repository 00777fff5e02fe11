"""An endless loop."""

import pytest

from tests.failure.hacking import LIMITS, Attempt, assert_refused, broken_and
from tests.grading.support import MEAN, NUMBERS

ON_IMPORT = "\nwhile True:\n    pass\n"
IN_FUNCTION = "\n\ndef mean(values):\n    while True:\n        pass\n"
DEAF = """
import signal, time
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    time.sleep(1)
"""


@pytest.mark.parametrize("extra", [ON_IMPORT, IN_FUNCTION, DEAF])
def test_it_is_ended_and_fails(attempt: Attempt, extra: str) -> None:
    # Long enough for a busy machine to get to the test.
    seconds = 6.0 if extra == IN_FUNCTION else 2.0
    grade = attempt({NUMBERS: broken_and(extra)}, limits=LIMITS.model_copy(update={"wall_seconds": seconds}))
    assert_refused(grade)
    assert grade.timed_out
    assert grade.seconds < seconds + 12
    assert attempt.run is not None
    assert attempt.run.hung == (MEAN if extra == IN_FUNCTION else "")
