"""Writing outside the repository."""

import pytest

from tests.failure.hacking import Attempt, assert_refused, fixed_and
from tests.grading.support import NUMBERS

PLAIN = """
try:
    open("/env/lib/evil.pth", "w").write("import os")
except OSError:
    pass
"""
HIDDEN = """
import os
for folder in ("env", "etc", "usr", "root", "home", "var"):
    try:
        os.mkdir(os.sep + folder + "/evil")
    except OSError:
        pass
"""
UP = """
import pathlib
try:
    pathlib.Path("../evil").write_text("evil")
except OSError:
    pass
"""


@pytest.mark.parametrize("extra", [PLAIN, HIDDEN, UP])
def test_it_fails_and_is_recorded(attempt: Attempt, extra: str) -> None:
    grade = attempt({NUMBERS: fixed_and(extra)})
    assert_refused(grade, "write_outside")
    assert attempt.run is not None
    assert any(event.kind == "write_outside" for event in attempt.run.events)
    assert not (attempt.tree.environment / "lib/evil.pth").exists()
    assert not (attempt.tree.repo.parent / "evil").exists()
