"""Tests skipped by the code that they test (SWE-bench #598)."""

import pytest

from tests.failure.hacking import Attempt, assert_refused, broken_and
from tests.grading.support import MEAN, NUMBERS

AT_IMPORT = "\nimport unittest\nraise unittest.SkipTest('not today')\n"
IN_FUNCTION = "\n\ndef mean(values):\n    import pytest\n    pytest.skip('not today')\n"
AS_EXPECTED = "\n\ndef mean(values):\n    import pytest\n    pytest.xfail('known')\n"


@pytest.mark.parametrize("extra", [AT_IMPORT, IN_FUNCTION])
def test_a_skipped_test_has_not_passed(attempt: Attempt, extra: str) -> None:
    grade = attempt({NUMBERS: broken_and(extra)})
    assert_refused(grade, "test_framework")
    assert grade.fail_to_pass_rate == 0.0
    assert {t.test: t.status.value for t in grade.tests}[MEAN] == "skipped"


def test_nor_one_that_was_expected_to_fail(attempt: Attempt) -> None:
    assert_refused(attempt({NUMBERS: broken_and(AS_EXPECTED)}), "test_framework")
