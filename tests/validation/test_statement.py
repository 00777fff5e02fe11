from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.validation.evidence import Evidence, Frame, called_functions, clean_message, source_frames
from components.validation.source import SourceFile
from components.validation.statement import Budget, hidden_statement, visible_statement

BUDGET = Budget(tests=2, frames=3, functions=3, characters=480)
RAISED = Evidence(
    tests=("tests/test_box.py::test_pop", "tests/test_box.py::test_get", "tests/test_box.py::test_len"),
    exception="KeyError",
    message="'missing'",
    frames=(Frame("box/core.py", 12, "Box.pop"), Frame("box/core.py", 40, "Box._find")),
    test_frame=Frame("tests/test_box.py", 9, "test_pop"),
    called=(Frame("box/core.py", 10, "Box.pop"),),
)
WRONG = replace(RAISED, exception="AssertionError", message="assert [1, 2] == [1]", frames=())
SOURCE = SourceFile(
    "box/core.py",
    """\
class Box:
    def __init__(self):
        self.items = {}
    def __getitem__(self, key):
        return self._find(key)
    def _find(self, key):
        return self.items[key]

def unused():
    return 1
""",
)
TEST = """\
from box.core import Box
class TestBox:
    def test_get(self):
        box = Box()
        assert box["a"] == 1
        unused()
"""


@pytest.mark.parametrize("task_id", [f"t{i}" for i in range(8)])
def test_visible_names_tests_and_traceback(task_id: str) -> None:
    text = visible_statement(task_id, "box", RAISED, BUDGET)
    assert "tests/test_box.py::test_pop" in text and "test_len" not in text
    assert "KeyError: 'missing'" in text
    assert text.index("tests/test_box.py:9 in test_pop") < text.index("box/core.py:40 in Box._find")
    assert "Functions that" not in text


def test_visible_names_called_functions_when_nothing_was_raised_in_the_code() -> None:
    text = visible_statement("t", "box", WRONG, BUDGET)
    assert "Functions that the failing tests run:\n  box/core.py:10 in Box.pop" in text


def test_suspects_and_called_functions_take_turns() -> None:
    called = tuple(Frame("m.py", n, f"f{n}") for n in (1, 2, 3))
    evidence = replace(WRONG, called=called, suspects=(Frame("m.py", 9, "g"), called[0]))
    assert [frame.function for frame in evidence.functions(3)] == ["g", "f1", "f2"]
    assert evidence.functions(0) == ()
    text = visible_statement("t", "box", replace(evidence, tests=("t.py::test_one",)), BUDGET)
    assert "Functions that the failing test runs:\n  m.py:9 in g\n  m.py:1 in f1" in text


@pytest.mark.parametrize("task_id", [f"t{i}" for i in range(8)])
def test_hidden_tells_the_symptom_and_no_test(task_id: str) -> None:
    raised = hidden_statement(task_id, "box", RAISED, BUDGET)
    wrong = hidden_statement(task_id, "box", WRONG, BUDGET)
    assert "`box.core.Box.pop` raises `KeyError: 'missing'`." in raised
    assert "`box.core.Box.pop` gives a wrong result: `[1, 2] == [1]` does not hold." in wrong
    assert "test" not in raised + wrong


def test_hidden_tells_what_should_have_been_raised() -> None:
    failed = replace(RAISED, exception="Failed", message="DID NOT RAISE <class 'ValueError'>", frames=())
    assert "does not raise `ValueError` where it should." in hidden_statement("t", "box", failed, BUDGET)


def test_wordings_differ_and_are_stable() -> None:
    texts = {visible_statement(f"t{i}", "box", RAISED, BUDGET) for i in range(30)}
    assert len(texts) == 3
    assert visible_statement("t1", "box", RAISED, BUDGET) == visible_statement("t1", "box", RAISED, BUDGET)


@given(
    st.text(max_size=300),
    st.lists(st.text("abc/._", min_size=1, max_size=60), min_size=1, max_size=6),
    st.integers(0, 12),
    st.text(max_size=10),
)
def test_statements_stay_short(message: str, tests: list[str], frames: int, task_id: str) -> None:
    evidence = Evidence(
        tests=tuple(f"tests/{test}.py::t" for test in tests),
        exception="ValueError",
        message=clean_message(message, 200),
        frames=tuple(Frame("pkg/mod.py", i, "function") for i in range(frames)),
    )
    assert len(visible_statement(task_id, "pkg", evidence, BUDGET)) <= 480
    assert len(hidden_statement(task_id, "pkg", evidence, BUDGET)) <= 480


def test_messages_lose_what_differs_from_run_to_run() -> None:
    assert clean_message("\n<Box at 0x7f3a12> in /tmp/x1/y\nmore", 80) == "<Box at 0x...> in <tmp>"
    assert clean_message("/repo/box/core.py is bad", 80) == "box/core.py is bad"
    assert len(clean_message("x" * 500, 80)) == 80
    assert clean_message("", 80) == ""


def test_frames_are_of_the_code_only_and_not_repeated() -> None:
    places = [("tests/t.py", 1, "test"), ("box/core.py", 4, "get"), ("box/core.py", 5, "get")]
    frames = [("/usr/lib/x.py", 3, "run"), *((f"/repo/{p}", n, f) for p, n, f in places)]
    frames.append(("box/core.py", 7, "_find"))
    assert source_frames(frames, {"box/core.py": SOURCE}, 4) == (
        Frame("box/core.py", 5, "get"),
        Frame("box/core.py", 7, "Box._find"),
    )
    assert len(source_frames(frames, {"box/core.py": SOURCE}, 1)) == 1


def test_called_functions_are_named_by_the_test_and_executed() -> None:
    sources = {"box/core.py": SOURCE}
    found = called_functions(
        TEST, "tests/t.py::TestBox::test_get[1]", 5, sources, {"box/core.py": {3, 5, 7}}, 3
    )
    assert found == (Frame("box/core.py", 4, "Box.__getitem__"), Frame("box/core.py", 2, "Box.__init__"))
    assert called_functions(TEST, "tests/t.py::absent", 5, sources, {"box/core.py": {3}}, 3) == ()


def test_a_call_inside_a_raises_block_is_reached_and_later_ones_are_not() -> None:
    test = "def test_it():\n    box = Box()\n    with raises(KeyError):\n        box._find(1)\n    unused()\n"
    sources = {"box/core.py": SOURCE}
    covered = {"box/core.py": {3, 7, 10}}
    found = called_functions(test, "t.py::test_it", 3, sources, covered, 3)
    assert [frame.function for frame in found] == ["Box._find", "Box.__init__"]
