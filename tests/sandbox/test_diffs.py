"""`git apply` on the old files gives the new ones, byte for byte."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.sandbox.diffs import Change, Content, render

LINE = st.text(alphabet="ab +-\\@\t\r\f\u2028é", max_size=4)
TEXT = st.builds(
    lambda lines, last: ("\n".join(lines) + ("\n" if last and lines else "")).encode(),
    st.lists(LINE, max_size=30),
    st.booleans(),
)
NAME = st.text(alphabet='ab .-"\\\té', min_size=1, max_size=6).filter(lambda n: n not in (".", ".."))
FILES = st.dictionaries(NAME, TEXT, max_size=4)


def diff_of(old: dict[str, bytes], new: dict[str, bytes]) -> str:
    def content(files: dict[str, bytes], name: str) -> Content | None:
        return Content(files[name]) if name in files else None

    changes = [Change(name, content(old, name), content(new, name)) for name in old.keys() | new.keys()]
    report = render(changes)
    assert not report.refused
    return report.text


def git_apply(files: dict[str, bytes], patch: str) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        root = Path(folder, "tree")
        root.mkdir()
        for name, data in files.items():
            (root / name).write_bytes(data)
        if patch:
            subprocess.run(
                ["git", "apply", "--whitespace=nowarn", "-"],
                cwd=root,
                input=patch.encode(),
                check=True,
                capture_output=True,
                env={"PATH": "/usr/bin:/bin:/usr/local/bin", "GIT_CEILING_DIRECTORIES": folder},
            )
        return {path.name: path.read_bytes() for path in root.iterdir()}


@settings(max_examples=60, deadline=None)
@given(old=FILES, new=FILES)
def test_git_apply_gives_the_new_tree(old: dict[str, bytes], new: dict[str, bytes]) -> None:
    assert git_apply(old, diff_of(old, new)) == new


@settings(max_examples=60, deadline=None)
@given(text=TEXT, edits=st.lists(st.tuples(st.integers(0, 40), LINE), max_size=4))
def test_git_apply_gives_the_edited_file(text: bytes, edits: list[tuple[int, str]]) -> None:
    lines = (b"filler\n" * 20 + text).split(b"\n")
    after = list(lines)
    for index, line in edits:
        after[index % len(after)] = line.encode()
    old, new = {"f": b"\n".join(lines)}, {"f": b"\n".join(after)}
    assert git_apply(old, diff_of(old, new)) == new


def test_equal_files_give_nothing() -> None:
    same = {"a": b"1\n", "b": b""}
    assert diff_of(same, dict(same)) == ""


def test_it_is_what_git_prints(tmp_path: Path) -> None:
    old = {"core.py": b"".join(b"line %d\n" % n for n in range(40)), "gone": b"x", "two words": b"1\r\n2"}
    new = dict(old)
    new["core.py"] = old["core.py"].replace(b"line 7\n", b"seven\n").replace(b"line 30\n", b"")
    del new["gone"]
    new["two words"] = b"1\r\n2\n"
    new["fresh"] = b"a\n\nb\n"

    def git(*argv: str) -> str:
        run = subprocess.run(["git", *argv], cwd=tmp_path, check=True, capture_output=True)
        return run.stdout.decode()

    git("init", "-q")
    for name, data in old.items():
        (tmp_path / name).write_bytes(data)
    git("add", "-A")
    for name in old.keys() - new.keys():
        (tmp_path / name).unlink()
    for name, data in new.items():
        (tmp_path / name).write_bytes(data)
    git("add", "-N", "fresh")
    theirs = [line for line in git("diff").split("\n") if not line.startswith("index ")]
    ours = diff_of(old, new).split("\n")
    # git repeats the line that it takes for the function's head after the second @@.
    assert [line.partition(" @@ ")[0].removesuffix(" @@") for line in theirs] == [
        line.removesuffix(" @@") for line in ours
    ]


@pytest.mark.parametrize(
    ("data", "why"), [(b"\0", "binary"), (b"caf\xe9", "not UTF-8"), (b"x" * 7999 + b"\0", "binary")]
)
def test_what_is_not_text_is_refused_by_name(data: bytes, why: str) -> None:
    report = render([Change("f", None, Content(data)), Change("g", None, Content(b"text\n"))])
    assert report.refused == (f"f: {why}; left out of the diff",)
    assert "b/g" in report.text and "b/f" not in report.text


def test_names_that_are_not_text_are_refused() -> None:
    report = render([Change("caf\udce9", None, Content(b"x\n"))])
    assert report.text == ""
    assert report.refused == ("caf�: its name is not UTF-8; left out of the diff",)


def test_new_and_empty_and_executable_files() -> None:
    report = render([Change("e", None, Content(b"", executable=True)), Change("d", Content(b""), None)])
    assert report.text == (
        "diff --git a/d b/d\ndeleted file mode 100644\ndiff --git a/e b/e\nnew file mode 100755\n"
    )


def test_very_long_files_take_little_time() -> None:
    old = b"".join(b"%d\n" % n for n in range(60_000))
    new = b"".join(b"%d\n" % (n * 7919 % 60_000) for n in range(60_000))
    assert diff_of({"f": old}, {"f": new}).count("\n@@ ") == 1
