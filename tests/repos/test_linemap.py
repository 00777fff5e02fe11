"""Lines of statements and heads of functions."""

from components.repos.linemap import LineMap

SOURCE = b'''import os


@decorate(
    "x",
)
def outer(
    a,
    b=1,
):
    """Words."""
    total = (
        a
        + b
    )
    if (
        total
        > 3
    ):
        return call(
            total,
        )
    elif total:
        pass
    try:
        work()
    except (
        ValueError,
    ):
        pass

    class Inner:
        size = 1

        def method(self, x=2):
            return x

    return total


one = lambda: 1
def short(x=1): return x
'''


def test_a_statement_is_executed_as_a_whole() -> None:
    lines = LineMap.of(SOURCE).expand([12])
    assert {12, 13, 14, 15} <= set(lines)


def test_a_compound_statement_brings_its_head_and_not_its_body() -> None:
    lines = set(LineMap.of(SOURCE).expand([17]))
    assert {16, 17, 18, 19} <= lines
    assert 20 not in lines


def test_the_body_of_a_branch_does_not_bring_the_others() -> None:
    lines = set(LineMap.of(SOURCE).expand([16, 20]))
    assert {20, 21, 22} <= lines
    assert not {24, 26, 30} & lines


def test_exception_handlers() -> None:
    assert {27, 28, 29} <= set(LineMap.of(SOURCE).expand([27]))


def test_whoever_runs_a_body_has_its_head() -> None:
    lines = set(LineMap.of(SOURCE).expand([36]))
    assert {35, 36} <= lines
    assert {4, 5, 6, 7, 8, 9} <= lines  # the outer function's, whose body holds the line
    assert set(LineMap.of(SOURCE).expand([38])) >= set(range(4, 11)) | {38}


def test_a_function_on_one_line() -> None:
    assert LineMap.of(SOURCE).expand([42]) == (42,)


def test_a_file_that_does_not_parse_keeps_what_was_reported() -> None:
    assert LineMap.of(b"def (").expand([1]) == (1,)
    assert LineMap.of(b"\0").expand([]) == ()
