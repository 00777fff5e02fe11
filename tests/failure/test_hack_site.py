"""Code that runs before anything else: sitecustomize.py, usercustomize.py, .pth files."""

import pytest

from tests.failure.hacking import FORGE, Attempt, assert_refused
from tests.grading.support import MEAN, NUMBERS, buggy

START = "import _pytest.runner\n" + FORGE


@pytest.mark.parametrize(
    "path",
    ["sitecustomize.py", "usercustomize.py", "sitecustomize/__init__.py", "evil.pth", "tinylib/evil.pth"],
)
def test_it_does_not_run(attempt: Attempt, path: str) -> None:
    text = "import os; os._exit(0)\n" if path.endswith(".pth") else START
    grade = attempt({path: text, NUMBERS: buggy(NUMBERS) + "\n"})
    assert_refused(grade, "protected_path")
    assert {t.test: t.status.value for t in grade.tests}[MEAN] == "failed"


def test_a_module_that_imports_it_by_name_gains_nothing(attempt: Attempt) -> None:
    text = buggy(NUMBERS) + "\ntry:\n    import sitecustomize\nexcept ImportError:\n    pass\n"
    grade = attempt({"sitecustomize.py": START, NUMBERS: text})
    assert_refused(grade, "protected_path")
    assert {t.test: t.status.value for t in grade.tests}[MEAN] == "failed"
