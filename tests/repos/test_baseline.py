"""What counts as stable, in real runs of small repositories."""

from pathlib import Path

import pytest

from components.grading.testrun import TestRun
from components.records.errors import InputError
from components.records.repository import BaselineTest, TestStatus
from components.repos.baseline import coverage_rows, merge
from components.repos.linemap import LineMap
from components.store import Workspace
from tests.conftest import build_tiny

FLAKY = """
import pathlib

seen = []

def test_good():
    pass

def test_depends_on_order():
    seen.append(1)

def test_needs_the_one_before():
    assert seen

def test_bad():
    assert False

import pytest

@pytest.mark.xfail
def test_known():
    assert False

@pytest.mark.parametrize("thing", [object()], ids=str)
def test_with_an_address_in_its_name(thing):
    pass
"""


def run(**statuses: TestStatus) -> TestRun:
    return TestRun(statuses=statuses, exit_code=0)


def test_a_test_that_one_run_lacks_is_not_stable() -> None:
    passed, failed = TestStatus.PASSED, TestStatus.FAILED
    rows = {row.test: row for row in merge("r", [run(a=passed, b=passed, c=passed), run(a=passed, c=failed)])}
    assert rows["a"].stable
    assert rows["b"].statuses == (passed, TestStatus.MISSING)
    assert not rows["b"].stable
    assert not rows["c"].stable


@pytest.mark.parametrize("status", [status for status in TestStatus if status is not TestStatus.PASSED])
def test_only_passing_counts(status: TestStatus) -> None:
    assert not merge("r", [run(a=status), run(a=status)])[0].stable


def test_coverage_is_of_stable_tests_and_source_files() -> None:
    source = {"a.py": LineMap.of(b"x = (\n1\n)\n")}
    reported = {"t": {"a.py": (1,), "conftest.py": (1,)}, "": {"a.py": (1,)}, "u": {"a.py": (1,)}}
    rows = coverage_rows("r", reported, {"t"}, source)
    assert [(row.test, row.path, row.lines) for row in rows] == [
        ("", "a.py", (1, 2, 3)),  # at import
        ("t", "a.py", (1, 2, 3)),
    ]


def small(folder: Path, tests: str) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/__init__.py").write_text("")
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text(tests)
    return folder


def test_tests_that_need_an_order_or_change_their_names_are_left_out(
    tiny_workspace: Workspace, tmp_path: Path
) -> None:
    dataset = build_tiny(
        tiny_workspace, small(tmp_path / "flaky", FLAKY), orders=("file", "shuffle", "shuffle")
    )
    rows = dataset.rows("baseline", BaselineTest)
    stable = {row.test.partition("::")[2] for row in rows if row.stable}
    assert stable == {"test_good", "test_depends_on_order"}


def test_a_suite_that_does_not_end(tiny_workspace: Workspace, tmp_path: Path) -> None:
    folder = small(tmp_path / "endless", "def test_on_and_on():\n    while True: pass\n")
    with pytest.raises(InputError, match=r"took more than 3 s .*test_on_and_on.*raise suite_seconds"):
        build_tiny(tiny_workspace, folder, suite_seconds=3)
