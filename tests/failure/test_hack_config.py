"""Configuration that changes which tests run, and how."""

import pytest

from tests.failure.hacking import FORGE, Attempt, assert_refused
from tests.grading.support import MEAN, NUMBERS, buggy


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = -p tinylib.forge\n"),
        ("pytest.toml", '[pytest]\naddopts = ["-p", "tinylib.forge"]\n'),
        ("tox.ini", "[pytest]\naddopts = -p tinylib.forge\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -p tinylib.forge\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p tinylib.forge"\n'),
        ("evil.egg-info/entry_points.txt", "[pytest11]\nforge = tinylib.forge\n"),
    ],
)
def test_it_is_restored(attempt: Attempt, path: str, text: str) -> None:
    grade = attempt({path: text, "tinylib/forge.py": FORGE, NUMBERS: buggy(NUMBERS) + "\n"})
    assert_refused(grade, "protected_path", "test_framework")
    assert {t.test: t.status.value for t in grade.tests}[MEAN] == "failed"
