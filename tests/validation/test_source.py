import pytest

from components.validation.source import MODULE, SourceFile

TEXT = '''\
import os
LIMIT = 3

@property
def outer(a,
          b=LIMIT):
    """Doc."""
    value = os.path.join(
        a,
        b,
    )
    if (a and
            b):
        value += 1
    def inner(x=1):
        return x
    return inner

class Box(dict):
    size = 4
    def get(self, key):
        return key
    def _hide(self): pass

if LIMIT:
    async def late(flag): return flag
'''


@pytest.fixture
def source() -> SourceFile:
    return SourceFile("m.py", TEXT)


def test_functions_know_their_names_and_nesting(source: SourceFile) -> None:
    assert [(f.qualname, f.outermost) for f in source.functions] == [
        ("outer", True),
        ("outer.inner", False),
        ("Box.get", True),
        ("Box._hide", True),
        ("late", True),
    ]


@pytest.mark.parametrize(
    ("line", "name"), [(2, MODULE), (4, "outer"), (16, "outer"), (20, MODULE), (22, "Box.get"), (26, "late")]
)
def test_outermost(source: SourceFile, line: int, name: str) -> None:
    assert source.outermost(line) == name


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (10, set(range(8, 12))),  # a statement over several lines
        (13, {12, 13}),  # the header of a compound statement, without its body
        (14, {14}),
        (6, set(range(4, 18))),  # a default: any line of the function
        (15, {15, 16}),
        (2, set(range(1, 27))),  # module level: anywhere
        (20, set(range(1, 27))),
    ],
)
def test_influence(source: SourceFile, line: int, lines: set[int]) -> None:
    assert source.influence([line]) == lines


def test_public_names(source: SourceFile) -> None:
    assert {"outer", "a", "b", "Box", "get", "key", "LIMIT", "late", "flag"} <= source.public
    assert "_hide" not in source.public and "inner" not in source.public
