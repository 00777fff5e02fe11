import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.validation.leak import (
    Change,
    body_of_tests,
    leaked_tests,
    line_leaks,
    name_leaks,
    squeeze,
    telling,
)

PATCH = """\
--- a/pkg/calc.py
+++ b/pkg/calc.py
@@ -1,3 +1,3 @@
 def total(values, start=0):
-    return sum(values) - start
+    return sum(values) + start_offset
 # context
"""
LINES = st.text(
    st.characters(codec="ascii", exclude_characters="\n\r\v\f\x1c\x1d\x1e"), min_size=0, max_size=60
)


def test_change_reads_both_sides_and_no_context() -> None:
    change = Change.of(PATCH)
    assert change.added == ("    return sum(values) + start_offset",)
    assert change.removed == ("    return sum(values) - start",)
    assert change.introduced == {"start_offset"}


@pytest.mark.parametrize(
    "line", ["return None", "  else:", "x = 1", "", ")", "    continue", "raise ValueError", "+++++++++++++"]
)
def test_lines_that_say_nothing_are_no_leak(line: str) -> None:
    assert telling(line) == ""
    assert line_leaks(f"it says {line} here", [line], "fix") == []


def test_white_space_does_not_hide_a_line() -> None:
    line = "    return sum(values)  +  start"
    assert line_leaks("try `return sum( values ) + start` instead", [line], "fix") == [
        "fix: return sum(values)  +  start"
    ]
    assert line_leaks("return sum(values)\n   + start", [line], "fix")


@given(LINES, LINES, LINES)
def test_a_telling_line_is_always_found(before: str, line: str, after: str) -> None:
    leaks = line_leaks(f"{before}\n{line}\n{after}", [line], "fix")
    assert bool(leaks) == bool(telling(line))


@given(LINES, st.lists(LINES, max_size=4))
def test_a_statement_without_the_line_is_clean(line: str, words: list[str]) -> None:
    statement = " ".join(word for word in words)
    if squeeze(line) not in squeeze(statement):
        assert line_leaks(statement, [line], "fix") == []


@given(LINES, st.sampled_from([" ", "  ", "\t", "\n"]))
def test_any_white_space_between_words_is_the_same(line: str, space: str) -> None:
    if telling(line):
        assert line_leaks(re.sub(r"\s", lambda _: space, line), [line], "fix")


def test_only_public_names_of_the_fix_may_appear() -> None:
    change = Change.of(PATCH)
    assert name_leaks("the start_offset is ignored", change, frozenset()) == ["name: start_offset"]
    assert name_leaks("the start_offset is ignored", change, frozenset({"start_offset"})) == []
    assert name_leaks("total gives a wrong sum", change, frozenset()) == []
    keywords = Change(("if not len(values):",), ("if values:",))
    assert name_leaks("if not, len is wrong", keywords, frozenset()) == []


SOURCE = """\
import pytest

class TestIt:
    @pytest.mark.parametrize("value", [1, 2])
    def test_one(self, value):
        assert total([value]) == value + 100

def test_two():
    expected_total = total([3])
    assert expected_total == 3
"""


def test_bodies_of_the_wanted_tests_only() -> None:
    assert body_of_tests(SOURCE, ["tests/t.py::TestIt::test_one[1]"]) == (
        "        assert total([value]) == value + 100",
    )
    assert len(body_of_tests(SOURCE, ["tests/t.py::TestIt::test_one[2]", "tests/t.py::test_two"])) == 3


def test_test_names_leak_in_the_hidden_setting() -> None:
    found = leaked_tests("see test_two in tests/t.py", ["tests/t.py::test_two", "tests/t.py::test_three"])
    assert found == ["test: test_two", "test: tests/t.py"]
    assert leaked_tests("total gives 4", ["tests/t.py::TestIt::test_one[1]"]) == []
