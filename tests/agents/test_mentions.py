"""Where a problem statement points to."""

from hypothesis import given
from hypothesis import strategies as st

from components.agents.mentions import mentioned

SOURCES = {
    "lib/a.py": "def f():\n    return g()\n\n\nclass C:\n    def m(self):\n        return f()\n",
    "lib/b/__init__.py": "def f():\n    return 1\n",
}


def places(statement: str) -> list[tuple[str, str, float]]:
    return [(item.path, item.function, item.score) for item in mentioned(statement, SOURCES).suspects]


def test_the_innermost_frame_comes_first_and_names_last() -> None:
    told = "`lib.b.f` raises\nTraceback:\n  lib/a.py:7 in C.m\n  lib/a.py:2 in f\nFix `lib`.\n"
    assert places(told) == [
        ("lib/a.py", "f", 1.0),
        ("lib/a.py", "C.m", 0.5),
        ("lib/b/__init__.py", "f", 1 / 3),
    ]
    assert mentioned(told, SOURCES).frames == {
        "lib/a.py": frozenset({2, 7}),
        "lib/b/__init__.py": frozenset(),
    }


def test_names_with_and_without_their_module() -> None:
    assert places("`lib.a.C.m`") == places("`a.C.m`") == places("`C.m`") == [("lib/a.py", "C.m", 1.0)]
    assert [path for path, _, _ in places("`f`")] == ["lib/a.py", "lib/b/__init__.py"]


def test_what_is_no_function_of_the_source_points_nowhere() -> None:
    found = mentioned("`lib` `lib.a` `C` `lib.a.h` f\n  lib/c.py:1 in f\n  lib/a.py:4 in f\n", SOURCES)
    assert not found.suspects and "names no function" in found.note


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    for item in mentioned(text, SOURCES).suspects:
        assert item.path in SOURCES and 0 < item.score <= 1
