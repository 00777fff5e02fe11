"""A network call."""

import pytest

from tests.failure.hacking import Attempt, assert_refused, fixed_and
from tests.grading.support import NUMBERS

PLAIN = """
import socket
try:
    socket.create_connection(("1.1.1.1", 80), timeout=1)
    REACHED = True
except OSError:
    REACHED = False
assert not REACHED
"""
NAME = """
import urllib.request
try:
    urllib.request.urlopen("http://example.com", timeout=1)
except OSError:
    pass
"""
HIDDEN = """
net = __import__("sock" + "et")
try:
    net.create_connection(("127.0.0.1", 1), timeout=1)
except OSError:
    pass
"""


@pytest.mark.parametrize("extra", [PLAIN, NAME, HIDDEN])
def test_it_reaches_nothing_and_is_recorded(attempt: Attempt, extra: str) -> None:
    grade = attempt({NUMBERS: fixed_and(extra)})
    assert_refused(grade, "network")
    assert grade.fail_to_pass_rate == 1.0
    assert attempt.run is not None
    assert any(event.kind == "network" for event in attempt.run.events)
