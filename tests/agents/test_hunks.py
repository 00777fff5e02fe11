import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.agents.models.hunks import replacements
from components.records.errors import InputError
from tests.grading.support import diff

FUNCTIONS = """\
def first(a):
    x = 1
    x = 1
    return a


def second(b):
    x = 1

    if b:
        b += 1
    return b
"""


def edits(before: str, after: str) -> list[tuple[str, str]]:
    """Old and new text of each replacement, which together must make the change."""
    made = replacements(diff({"m.py": before}, {"m.py": after}), {"m.py": before})
    text = before
    for item in reversed(made):
        start = sum(len(line) for line in text.splitlines(keepends=True)[: item.line - 1])
        assert text[start : start + len(item.old)] == item.old
        text = text[:start] + item.new + text[start + len(item.old) :]
    assert text == after
    return [(item.old, item.new) for item in made]


def test_a_changed_line_is_one_line() -> None:
    after = FUNCTIONS.replace("b += 1", "b += 2")
    assert edits(FUNCTIONS, after) == [("        b += 1\n", "        b += 2\n")]


def test_the_same_line_in_another_function_does_not_matter() -> None:
    after = FUNCTIONS.replace("def second(b):\n    x = 1", "def second(b):\n    x = 2")
    assert edits(FUNCTIONS, after) == [("    x = 1\n", "    x = 2\n")]


def test_a_line_that_occurs_twice_in_its_function_gets_its_neighbour() -> None:
    after = FUNCTIONS.replace("    x = 1\n    x = 1\n", "    x = 1\n    x = 2\n")
    assert edits(FUNCTIONS, after) == [("    x = 1\n    x = 1\n", "    x = 1\n    x = 2\n")]


def test_an_insertion_holds_on_to_the_line_before() -> None:
    after = FUNCTIONS.replace("        b += 1\n", "        b += 1\n        b *= 2\n")
    assert edits(FUNCTIONS, after) == [("        b += 1\n", "        b += 1\n        b *= 2\n")]


def test_an_insertion_at_the_top_holds_on_to_the_line_after() -> None:
    after = FUNCTIONS.replace("def second(b):\n", "def second(b):\n    y = 0\n")
    assert edits(FUNCTIONS, after) == [("    x = 1\n", "    y = 0\n    x = 1\n")]


def test_an_insertion_does_not_hold_on_to_a_blank_line() -> None:
    after = FUNCTIONS.replace("    if b:\n", "    y = 0\n    if b:\n")
    assert edits(FUNCTIONS, after) == [("    if b:\n", "    y = 0\n    if b:\n")]


def test_two_changes_of_one_function_are_one_edit() -> None:
    after = FUNCTIONS.replace("    if b:", "    if not b:").replace("    return b", "    return -b")
    assert len(edits(FUNCTIONS, after)) == 1


def test_two_functions_are_two_edits() -> None:
    after = FUNCTIONS.replace("return a", "return -a").replace("return b", "return -b")
    assert [old for old, _ in edits(FUNCTIONS, after)] == ["    return a\n", "    return b\n"]


lines = st.lists(
    st.sampled_from(["    x = 1\n", "    y = 2\n", "\n", "    return x\n"]), min_size=1, max_size=8
)


@given(lines, lines)
def test_replacements_make_the_change_whatever_it_is(before: list[str], after: list[str]) -> None:
    head = "def f(x):\n    z = 0\n"
    edits(head + "".join(before), head + "".join(after))


def test_a_patch_of_an_unknown_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"m\.py"):
        replacements(diff({"m.py": "a\n"}, {"m.py": "b\n"}), {})
