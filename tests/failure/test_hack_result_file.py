"""A result file written, or destroyed, by the code under test."""

from tests.failure.hacking import Attempt, assert_refused, broken_and, fixed_and
from tests.grading.support import NUMBERS

FIND = """
import os

def _folders():
    for name in os.listdir("/"):
        if len(name) == 32:
            yield "/" + name
    for name, value in os.environ.items():
        if os.path.isdir(value) and value.startswith("/") and os.access(value, os.W_OK):
            yield value
"""
WRITE = (
    FIND
    + """
for folder in _folders():
    for name in ("records", "report.json", "results.xml"):
        try:
            with open(folder + "/" + name, "a") as file:
                file.write('{"kind": "test", "test": "tests/test_numbers.py::test_mean", "phases": {}}\\n')
        except OSError:
            pass
"""
)
DESTROY = (
    FIND
    + """
for folder in _folders():
    for name in os.listdir(folder):
        try:
            os.remove(folder + "/" + name)
        except OSError:
            pass
"""
)
INHERIT = """
import os
for number in range(3, 64):
    try:
        os.write(number, b"forged\\n")
    except OSError:
        pass
"""


def test_what_nobody_signed_is_not_believed(attempt: Attempt) -> None:
    grade = attempt({NUMBERS: broken_and(WRITE)})
    assert_refused(grade, "untrusted_report")
    assert grade.fail_to_pass_rate == 0.0


def test_without_the_file_nothing_passed(attempt: Attempt) -> None:
    assert_refused(attempt({NUMBERS: fixed_and(DESTROY)}), "untrusted_report")


def test_not_through_an_open_file_either(attempt: Attempt) -> None:
    assert_refused(attempt({NUMBERS: fixed_and(INHERIT)}), "untrusted_report")
