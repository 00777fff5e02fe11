"""What speaks against a function: each kind of evidence decides between two that are otherwise alike."""

from collections.abc import Collection, Sequence

from hypothesis import given
from hypothesis import strategies as st

from components.agents.spectrum import Localization, localize

SOURCE = """\
class Box:
    def __repr__(self):
        y = 1
        return y


def first(x):
    y = x
    return y


def second(x):
    y = x
    return y
"""
REPR, FIRST, SECOND = frozenset({3, 4}), frozenset({8, 9}), frozenset({13, 14})


def found(
    failing: frozenset[int] = FIRST | SECOND,
    passing: Collection[frozenset[int]] = (),
    *,
    test: str = "t.py::test_it",
    tracebacks: Sequence[Sequence[tuple[str, int]]] = (),
) -> Localization:
    others = {f"t.py::test_{index}": {"a.py": lines} for index, lines in enumerate(passing)}
    return localize({test: {"a.py": failing}}, others, {"a.py": SOURCE}, tracebacks=tracebacks)


def names(where: Localization) -> list[str]:
    return [item.function for item in where.suspects]


def test_functions_that_are_alike_come_in_the_order_of_the_file() -> None:
    assert names(found()) == ["first", "second"]


def test_lines_that_passing_tests_execute_speak_for_a_function() -> None:
    assert names(found(passing=[FIRST])) == ["second", "first"]
    # One line of `first` is as suspicious as can be, too.
    assert names(found(passing=[frozenset({8})])) == ["second", "first"]


def test_a_longer_function_is_more_to_blame() -> None:
    assert names(found(frozenset({8, 13, 14}))) == ["second", "first"]


def test_the_traceback_speaks_against_a_function() -> None:
    assert names(found(tracebacks=[[("a.py", 14), ("elsewhere.py", 1)]])) == ["second", "first"]


def test_so_does_an_exception_raised_in_it() -> None:
    assert names(found(tracebacks=[[("a.py", 14), ("a.py", 9)]])) == ["first", "second"]
    assert names(found(tracebacks=[[("a.py", 9), ("a.py", 14)]])) == ["second", "first"]
    assert names(found(tracebacks=[[]])) == ["first", "second"]


def test_so_does_its_name_in_that_of_the_test() -> None:
    assert names(found(test="t.py::TestIt::test_second[x]")) == ["second", "first"]
    assert names(found(test="second.py::test_it")) == ["first", "second"]  # a file tests many functions


def test_what_explains_a_failure_is_not_its_cause() -> None:
    assert names(found(SECOND | REPR)) == ["second", "Box.__repr__"]


@given(
    st.frozensets(st.sampled_from(sorted(FIRST | SECOND | REPR)), min_size=1),
    st.lists(st.frozensets(st.sampled_from(sorted(FIRST | SECOND | REPR))), max_size=4),
)
def test_every_function_that_is_executed_is_a_suspect_once(
    failing: frozenset[int], passing: list[frozenset[int]]
) -> None:
    where = found(failing, passing)
    spans = {"first": FIRST, "second": SECOND, "Box.__repr__": REPR}
    assert sorted(names(where)) == sorted(name for name, lines in spans.items() if lines & failing)
    assert all(0 < item.score <= 1 for item in where.suspects)
    assert max(item.score for item in where.suspects) == 1
