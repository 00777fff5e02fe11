"""What `view` leaves out of long functions."""

from components.agents.source import spans
from components.agents.tools.view import _choose, _compact, _render

LONG = "\n".join(
    [
        "def long(a,",
        "         b):",
        '    """One.',
        "",
        "    Two.",
        '    """',
        *(f"    x{number} = {number}" for number in range(7, 101)),
        "    return a",
        "",
    ]
)


def shown(scores: dict[int, float], budget: int) -> list[str]:
    span = spans(LONG)[0]
    return _render(LONG, _choose(_compact(span, LONG), span, scores, budget), scores)


def test_a_function_within_budget_is_whole_but_for_its_docstring() -> None:
    lines = shown({}, 200)
    assert lines[:5] == [".|def long(a,", ".|         b):", '.|    """One.', "...", ".|    x7 = 7"]
    assert len(lines) == 99


def test_a_long_one_is_cut_to_the_lines_around_the_suspicious_ones() -> None:
    lines = shown({50: 1.0, 51: 0.2, 90: 0.6}, 20)
    assert lines == [
        ".|def long(a,",
        ".|         b):",
        '.|    """One.',
        "...",
        ".|    x48 = 48",
        ".|    x49 = 49",
        "9|    x50 = 50",
        "2|    x51 = 51",
        ".|    x52 = 52",
        ".|    x53 = 53",
        "...",
        ".|    x88 = 88",
        ".|    x89 = 89",
        "5|    x90 = 90",
        ".|    x91 = 91",
        ".|    x92 = 92",
    ]


def test_more_suspicious_lines_go_first_when_there_is_no_room_for_all() -> None:
    scores = {line: 0.1 for line in range(7, 101)} | {70: 1.0, 80: 0.9}
    lines = shown(scores, 13)
    assert "9|    x70 = 70" in lines and "8|    x80 = 80" in lines and len(lines) <= 13 + 3


def test_without_suspicion_the_head_is_shown() -> None:
    lines = shown({}, 10)
    assert lines[-1] == ".|    x13 = 13" and len([line for line in lines if line != "..."]) == 10


def test_lines_on_a_traceback_are_marked() -> None:
    assert _render("a\nb\nc\n", [1, 2, 3], {1: 0.5, 2: 1.0}, frozenset({2})) == ["5|a", "9>b", ".|c"]
