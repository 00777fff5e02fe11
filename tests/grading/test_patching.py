import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.grading.patching import PatchError, added_lines, apply_patch, parse_patch
from components.sandbox.diffs import Change, Content, render

BASE = {"a.py": b"one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"}


def edit(path: str, old: bytes | None, new: bytes | None) -> str:
    content = [None if data is None else Content(data) for data in (old, new)]
    return render([Change(path, *content)]).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a\nb\n", b"a\nc\n"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n"),
        (b"a\r\nb\n", b"a\nb\r\n"),
        (b"a\nb", b"a\nc"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nb"),
        (b"a\x0cb\nc\n", b"a\x0cb\nd\n"),
        ("é\u2028x\ny\n".encode(), "é\u2028x\nz\n".encode()),
        (b"a\rb\nc\n", b"a\rb\nd\n"),
        (b"", b"a\n"),
        (b"a\n", b""),
        (b"a\n" * 50, b"a\n" * 20 + b"b\n" + b"a\n" * 29),
    ],
)
def test_bytes_stay_as_they_are(old: bytes, new: bytes) -> None:
    assert apply_patch(edit("a.py", old, new), {"a.py": old}) == {"a.py": new}


def test_files_come_and_go_and_move() -> None:
    assert apply_patch(edit("b.py", None, b"x\n"), BASE) == {**BASE, "b.py": b"x\n"}
    assert apply_patch(edit("a.py", BASE["a.py"], None), BASE) == {}
    rename = "diff --git a/a.py b/d/b.py\nsimilarity index 100%\nrename from a.py\nrename to d/b.py\n"
    assert apply_patch(rename, BASE) == {"d/b.py": BASE["a.py"]}
    copy = rename.replace("rename", "copy")
    assert apply_patch(copy, BASE) == {**BASE, "d/b.py": BASE["a.py"]}
    edited = rename.replace("100%", "80%") + "--- a/a.py\n+++ b/d/b.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
    assert apply_patch(edited, BASE) == {"d/b.py": BASE["a.py"].replace(b"one", b"ONE")}
    empty = "diff --git a/e.py b/e.py\nnew file mode 100644\nindex 0000000..e69de29\n"
    assert apply_patch(empty, BASE) == {**BASE, "e.py": b""}


def test_without_git_headers() -> None:
    text = "--- a/a.py\t2026-01-01\n+++ b/a.py\t2026-01-02\n@@ -2 +2,2 @@\n-two\n+2\n+2.5\n"
    assert apply_patch(text, BASE)["a.py"].startswith(b"one\n2\n2.5\nthree\n")


def test_names_that_git_quotes() -> None:
    for name in ("naïve ☃.py", 'a "b".py', "a b.py", "tab\t.py", "back\\slash.py"):
        assert apply_patch(edit(name, b"a\n", b"b\n"), {name: b"a\n"}) == {name: b"b\n"}
        assert apply_patch(edit(name, None, b"x"), {}) == {name: b"x"}


def test_a_mode_that_changes_is_no_change_of_text() -> None:
    assert apply_patch("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 100755\n", BASE) == BASE


HEAD = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hello", "malformed"),
        (HEAD, "malformed"),
        (HEAD + "@@ -1,2 +1,2 @@\n-one\n+ONE\n", "malformed"),
        (HEAD + "@@ -1 +1 @@\n-one\n+ONE\n extra\n", "malformed"),
        (HEAD + "@@ -1 +1,2 @@\n-one\n-two\n+ONE\n", "malformed"),
        (HEAD + "@@ one @@\n-one\n+ONE\n", "malformed"),
        (HEAD + "@@ -1 +1 @@\n-one\n?ONE\n", "malformed"),
        (HEAD + "@@ -1 +1 @@\n-uno\n+ONE\n", "mismatch"),
        (HEAD + "@@ -2 +2 @@\n-one\n+ONE\n", "mismatch"),
        (HEAD + "@@ -90 +90 @@\n-one\n+ONE\n", "mismatch"),
        (HEAD + "@@ -3 +3 @@\n-three\n+3\n@@ -1 +1 @@\n-one\n+1\n", "mismatch"),
        (HEAD + "@@ -1 +1 @@\n-one\n+ONE\n" + HEAD + "@@ -2 +2 @@\n-two\n+TWO\n", "malformed"),
        ("--- a/a.py\n", "malformed"),
        ("--- a/a.py\n@@ -1 +1 @@\n-one\n+ONE\n", "malformed"),
        ("--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+ONE\n", "malformed"),
        ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", "malformed"),
        ("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-one\n+ONE\n", "path_escape"),
        ("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ("--- /dev/null\n+++ b//etc/passwd\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ("--- /dev/null\n+++ /etc/passwd\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ("--- /dev/null\n+++ b/x/../../y\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ("--- /dev/null\n+++ b/.git/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ("--- /dev/null\n+++ b/sub/.GIT/config\n@@ -0,0 +1 @@\n+x\n", "path_escape"),
        ('--- /dev/null\n+++ "b/a\\000b"\n@@ -0,0 +1 @@\n+x\n', "path_escape"),
        ('--- /dev/null\n+++ "b/\\056\\056/x"\n@@ -0,0 +1 @@\n+x\n', "path_escape"),
        ("diff --git a/a.py b/x\nsimilarity index 100%\nrename from a.py\nrename to ../x\n", "path_escape"),
        ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n", "special_file"),
        ("diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n", "special_file"),
        ("diff --git a/l b/l\nindex 1..2 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-/a\n+/etc\n", "special_file"),
        ("diff --git a/a.py b/a.py\nold mode 100644\nnew mode 120000\n", "special_file"),
        ("diff --git a/b b/b\nindex 1..2\nGIT binary patch\nliteral 1\nIcmZQz\n\n", "binary"),
        ("diff --git a/b b/b\nindex 1..2\nBinary files a/b and b/b differ\n", "binary"),
        ("--- /dev/null\n+++ b/a.py\n@@ -0,0 +1 @@\n+x\n", "mismatch"),
        ("--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x\n+y\n", "mismatch"),
        ("--- a/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "mismatch"),
        (HEAD.replace("---", "new file mode 100644\n---") + "@@ -1 +1 @@\n-one\n+1\n", "malformed"),
        ("diff --git a/e b/f\nnew file mode 100644\n", "malformed"),
        ('diff --git "a/e\n', "malformed"),
        ("diff --git a/a.py b/b.py\n--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-one\n+1\n", "malformed"),
        (HEAD + "@@ -8 +8,2 @@\n-eight\n+8\n\\ No newline at end of file\n+9\n", "malformed"),
        (HEAD + "@@ -1 +1 @@\n-one\n+1\n\\ No newline at end of file\n", "malformed"),
    ],
)  # fmt: skip
def test_refused(text: str, fault: str) -> None:
    with pytest.raises(PatchError) as caught:
        apply_patch(text, BASE)
    assert caught.value.fault == fault


def test_which_lines_are_new() -> None:
    (change,) = parse_patch(
        edit("a.py", BASE["a.py"], b"zero\n" + BASE["a.py"].replace(b"six\n", b"6\n6.5\n"))
    )
    assert added_lines(change) == {1, 7, 8}
    (new,) = parse_patch(edit("b.py", None, b"x\ny\n"))
    assert added_lines(new) == {1, 2}


LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "  d\n", "\x0c\n", "-x\n", "+y\n", "@@ -1 +1 @@\n"])
)
TEXTS = st.builds(lambda lines, end: "".join(lines).encode() + end, LINES, st.sampled_from([b"", b"end"]))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=TEXTS, new=TEXTS)
def test_as_git_does_it(tmp_path: Path, old: bytes, new: bytes) -> None:
    """Patches that git makes are applied as git applies them."""
    for name, data in (("old", old), ("new", new)):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "f").write_bytes(data)
    command = ["git", "diff", "--no-index", "--no-prefix", "-U1", "old/f", "new/f"]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).stdout.decode(
        "utf-8", "surrogateescape"
    )
    text = text.replace("old/f", "a/f").replace("new/f", "b/f")
    assert apply_patch(text, {"f": old}) == {"f": new}
