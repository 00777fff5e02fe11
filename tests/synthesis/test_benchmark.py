"""The parts of the comparison with SWE-smith that its figures hang on."""

from pathlib import Path

from benchmarks.synthesis_vs_swesmith import Run, apply, ours, quality
from components.synthesis.candidates import apply as splice
from tests.synthesis.helpers import candidates, standard_library


def test_patches_are_read_back() -> None:
    data = standard_library("queue")
    for row in candidates(data, max_lines=None)[0]:
        assert apply(data.decode(), row.bug_patch) == splice(data, row).decode()


def test_useless_candidates_are_counted(tmp_path: Path) -> None:
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "m.py").write_text("def f(a):\n    return a == 1\n")
    run = ours(tmp_path, "pkg")
    assert quality(tmp_path, run.patches) == {
        "duplicates": 0,
        "unparsable": 0,
        "same_tree": 0,
        "multi_line": 0,
    }
    head = "diff --git a/pkg/m.py b/pkg/m.py\n--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ -1,2 +1,2 @@\n def f(a):\n"
    same = head + "-    return a == 1\n+    return (a == 1)\n"
    broken = head + "-    return a == 1\n+    return (a == 1\n"
    found = quality(tmp_path, [("k", same), ("k", same), ("k", broken)])
    assert found["same_tree"] == found["unparsable"] == 0.5
    assert round(found["duplicates"], 2) == 0.33


def test_rate_counts_processor_time() -> None:
    assert Run(10.0, 2.0, [("k", "")] * 8).rate == 4.0
