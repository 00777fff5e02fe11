"""The bug patch: what git makes of the pristine file, and back."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.synthesis.diff import Lines


def git_apply(folder: Path, patch: str, *options: str) -> None:
    subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options],
        cwd=folder,
        input=patch.encode(),
        check=True,
        capture_output=True,
    )


def check(folder: Path, path: str, data: bytes, start: int, end: int, new: bytes) -> str:
    """Apply the patch forwards and backwards with git; return it."""
    lines = Lines(data)
    patch = lines.patch(path, lines.hunk(start, end, new))
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    git_apply(folder, patch)
    assert file.read_bytes() == data[:start] + new + data[end:]
    git_apply(folder, patch, "--reverse")
    assert file.read_bytes() == data
    return patch


def test_looks_like_git(tmp_path: Path) -> None:
    data = b"".join(b"line %d\n" % n for n in range(1, 11))
    start = data.index(b"line 5")
    assert check(tmp_path, "pkg/m.py", data, start, start + 6, b"LINE 5") == (
        "diff --git a/pkg/m.py b/pkg/m.py\n--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ -2,7 +2,7 @@\n"
        " line 2\n line 3\n line 4\n-line 5\n+LINE 5\n line 6\n line 7\n line 8\n"
    )


@pytest.mark.parametrize("path", ["a b.py", "naïve.py", 'quo"te.py', "back\\slash.py", "tab\t.py"])
def test_odd_names(tmp_path: Path, path: str) -> None:
    check(tmp_path, path, b"x = 1\n", 4, 5, b"2")


@pytest.mark.parametrize(
    ("data", "start", "end", "new"),
    [
        (b"a\nb", 2, 3, b"c"),
        (b"a\nb", 2, 3, b"c\n"),
        (b"a\nb\n", 3, 4, b""),
        (b"a\nb\n", 0, 2, b""),
        (b"a\nb", 1, 3, b""),
        (b"a\nb\nc\n", 0, 3, b"x"),
        (b"a\r\nb\r\n", 0, 1, b"x"),
        (b"a\n\n\nb\n", 1, 2, b""),
        (b"a\n", 0, 0, b"new\n"),
        (b"a\n", 2, 2, b"new\n"),
        (b"a\nb\nc\nd\ne\nf\ng\nh\n", 0, 1, b"x"),
        (b"\x0c\na\rb\n", 2, 3, b"x"),
    ],
)
def test_edges(tmp_path: Path, data: bytes, start: int, end: int, new: bytes) -> None:
    check(tmp_path, "m.py", data, start, end, new)


TEXT = st.text("ab \t\r\n", max_size=30).map(str.encode)


@settings(max_examples=30, deadline=None)
@given(data=TEXT, new=TEXT, cut=st.tuples(st.integers(0, 30), st.integers(0, 30)))
def test_any_edit(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, new: bytes, cut: tuple[int, int]
) -> None:
    start, end = sorted(min(offset, len(data)) for offset in cut)
    after = data[:start] + new + data[end:]
    if after == data or not data or not after:
        return  # git writes a file that appears or vanishes in another form
    check(tmp_path_factory.mktemp("repo"), "m.py", data, start, end, new)


def test_hunks_hold_only_changed_lines() -> None:
    hunk = Lines(b"a\nb\nc\n").hunk(0, 6, b"a\nx\nc\n")
    assert (hunk.first, hunk.old, hunk.new, hunk.size) == (1, (b"b\n",), (b"x\n",), 1)
