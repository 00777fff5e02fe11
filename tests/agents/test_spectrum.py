import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.agents.spectrum import Formula, localize, score

SOURCE = """\
def good(x):
    return x


def bad(x):
    if x:
        return -x
    return x
"""
counts = st.integers(0, 50)


def test_ochiai_is_what_the_paper_says() -> None:
    assert score("ochiai", 2, 6, 4, 10) == pytest.approx(2 / math.sqrt(4 * 8))


@given(st.sampled_from(["ochiai", "op2"]), counts, counts, counts, counts)
def test_scores_are_ordered_as_evidence_is(
    formula: Formula, failed: int, passed: int, more: int, rest: int
) -> None:
    total_failed, total_passed = failed + more, passed + rest
    value = score(formula, failed, passed, total_failed, total_passed)
    assert 0 <= value <= 1
    if failed:
        assert value >= score(formula, failed, passed + 1, total_failed, total_passed + 1)
    if total_failed > failed:
        assert score(formula, failed + 1, passed, total_failed, total_passed) >= value


def test_the_line_that_only_failing_tests_run_comes_first() -> None:
    found = localize(
        {"t1": {"a.py": frozenset({2, 6, 7})}},
        {"t2": {"a.py": frozenset({2, 6, 8})}, "t3": {"a.py": frozenset({2})}},
        {"a.py": SOURCE},
    )
    assert [(item.function, round(item.score, 2)) for item in found.suspects] == [
        ("bad", 1.0),
        ("good", 0.33),
    ]
    assert found.lines["a.py"][7] == 1.0 and 8 not in found.lines["a.py"]
    assert found.failing == ("t1",)


def test_the_scores_are_by_the_formula_that_is_asked_for() -> None:
    failing = {"t1": {"a.py": frozenset({2, 7})}}
    passing = {"t2": {"a.py": frozenset({2})}, "t3": {"a.py": frozenset({2})}}
    ochiai, op2 = (localize(failing, passing, {"a.py": SOURCE}, formula) for formula in ("ochiai", "op2"))
    assert ochiai.lines["a.py"][2] == pytest.approx(1 / math.sqrt(3))
    assert op2.lines["a.py"][2] == pytest.approx(1 / 3)
    assert ochiai.suspects == op2.suspects


def test_lines_outside_functions_have_scores_but_no_rank() -> None:
    found = localize({"t": {"a.py": frozenset({1, 2})}}, {}, {"a.py": SOURCE})
    assert found.lines["a.py"][1] == 1.0 and [item.function for item in found.suspects] == ["good"]


def test_nothing_executed_is_said() -> None:
    found = localize({"t": {"other.py": frozenset({1})}}, {}, {"a.py": SOURCE})
    assert not found.suspects and "no line" in found.note
