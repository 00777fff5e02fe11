import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.grading.patching import apply_patch
from components.records.errors import InputError
from components.validation.patches import changed_lines, reverse

LINES = st.lists(
    st.sampled_from(["a\n", "b\n", "-- x\n", "++ y\n", "\n", "@@ -1 +1 @@\n", "c\n"]), max_size=12
)


def diff(old: list[str], new: list[str]) -> str:
    text = "".join(difflib.unified_diff(old, new, "a/m.py", "b/m.py", n=1))
    return text and "diff --git a/m.py b/m.py\n" + text


@given(LINES, LINES)
def test_reverse_undoes(old: list[str], new: list[str]) -> None:
    if old == new:
        return
    before, after = "".join(old).encode(), "".join(new).encode()
    assert apply_patch(diff(old, new), {"m.py": before}) == {"m.py": after}
    assert apply_patch(reverse(diff(old, new)), {"m.py": after}) == {"m.py": before}
    assert reverse(reverse(reverse(diff(old, new)))) == reverse(diff(old, new))


def test_reverse_puts_removed_lines_first_and_keeps_missing_newlines() -> None:
    patch = (
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -3,2 +3,2 @@ def f():\n a\n-b\n"
        "\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    )
    assert reverse(patch) == (
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -3,2 +3,2 @@\n a\n-c\n"
        "\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
    )


def test_changed_lines_of_replacements_removals_and_insertions() -> None:
    old = [f"{n}\n" for n in range(1, 10)]
    assert changed_lines(diff(old, [*old[:3], "x\n", *old[4:]])) == {"m.py": (4,)}
    assert changed_lines(diff(old, [*old[:3], *old[5:]])) == {"m.py": (4, 5)}
    assert changed_lines(diff(old, [*old[:3], "x\n", "y\n", *old[3:]])) == {"m.py": (3, 4)}
    assert changed_lines(diff(old, ["x\n", *old])) == {"m.py": (1,)}
    assert changed_lines(diff(old, [*old[:3], "x\n", "y\n", "z\n", *old[4:]])) == {"m.py": (4,)}


def test_new_files_are_no_bug() -> None:
    patch = "diff --git a/n.py b/n.py\nnew file mode 100644\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+x\n"
    with pytest.raises(InputError, match=r"n\.py: a bug patch edits files"):
        changed_lines(patch)
