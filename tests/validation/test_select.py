from components.records.repository import BaselineTest, Coverage, TestStatus
from components.validation.select import CoverageMap
from components.validation.source import SourceFile

TEXT = """\
def table(n, start=0):
    return [start + i for i in range(n)]

TABLE = table(3)

def look(i):
    if i < 0:
        raise ValueError(
            i
        )
    return TABLE[i]
"""
SOURCE = SourceFile("m.py", TEXT)


def row(test: str, *statuses: TestStatus) -> BaselineTest:
    stable = len(set(statuses)) == 1 and statuses[0] is TestStatus.PASSED
    return BaselineTest(repository_id="r", test=test, statuses=statuses, stable=stable)


def lines(test: str, *numbers: int) -> Coverage:
    return Coverage(repository_id="r", test=test, path="m.py", lines=numbers)


PASSED, SKIPPED, FAILED = TestStatus.PASSED, TestStatus.SKIPPED, TestStatus.FAILED
TESTS = CoverageMap.build(
    [
        row("t.py::neg", PASSED, PASSED),
        row("t.py::pos", PASSED, PASSED),
        row("t.py::flaky", PASSED, FAILED),
        row("t.py::skip", SKIPPED, SKIPPED),
        row("u.py::other", PASSED, PASSED),
    ],
    [lines("", 1, 2, 4, 6), lines("t.py::neg", 7, 8), lines("t.py::pos", 7, 11), lines("t.py::flaky", 11)],
)


def test_only_tests_that_always_passed_count() -> None:
    assert TESTS.tests == ("t.py::neg", "t.py::pos", "u.py::other")


def test_covering_tests_by_statement_in_the_order_of_the_baseline() -> None:
    assert TESTS.covering("m.py", SOURCE, [11]) == ("t.py::pos",)
    assert TESTS.covering("m.py", SOURCE, [9]) == ("t.py::neg",)  # inside a statement that begins above
    assert TESTS.covering("m.py", SOURCE, [7]) == ("t.py::neg", "t.py::pos")
    assert TESTS.covering("other.py", SOURCE, [7]) == ()


def test_what_runs_at_import_reaches_every_test_of_the_file() -> None:
    assert TESTS.covering("m.py", SOURCE, [2]) == ("t.py::neg", "t.py::pos")
    assert TESTS.covering("m.py", SOURCE, [4]) == ("t.py::neg", "t.py::pos")  # module level


def test_neighbours_and_breadth() -> None:
    assert TESTS.around(["t.py::pos"], 5, len) == ("t.py::neg", "t.py::pos")
    assert TESTS.around(["t.py::pos"], 0, len) == ("t.py::pos",)
    assert TESTS.breadth("t.py::pos") == 2 and TESTS.breadth("u.py::other") == 0
