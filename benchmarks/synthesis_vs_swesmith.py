"""Candidates per second and core: our procedural synthesis against SWE-smith's, on boltons.

    python -m benchmarks.synthesis_vs_swesmith [--json]

Both get the same files and end with one unified diff per candidate, in memory. Ours also refuses equivalent
mutants and duplicates on the way; SWE-smith does not. Runs alternate, so that a busy machine slows both;
the figure is the median over runs of candidates per CPU second in one process. SWE-smith and the parser it
needs are installed into a temporary environment by pip and are gone afterwards.
"""

import argparse
import ast
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from components.synthesis.candidates import generate

BOLTONS = "boltons==26.2.0"
SWESMITH = "swesmith==0.0.9"
# What importing its Python modifiers pulls in; its declared extras add torch-sized packages to that.
GRAMMARS = ("c", "cpp", "c-sharp", "go", "java", "javascript", "php", "ruby", "rust", "typescript")
NEEDS = ("libcst", "astor", "python-dotenv", "rich", "tqdm", "tree-sitter>=0.25")
SAMPLE = 400


class Run(NamedTuple):
    """One pass over the package."""

    seconds: float
    cpu_seconds: float
    patches: list[tuple[str, str]]
    """(kind, unified diff)."""

    @property
    def rate(self) -> float:
        """Candidates per CPU second."""
        return len(self.patches) / self.cpu_seconds


def pip(python: Path | str, *arguments: str) -> None:
    """Run pip, quietly."""
    command = [str(python), "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)


def install(folder: Path) -> Path:
    """A temporary environment with SWE-smith; returns its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip(python, "install", "--no-deps", SWESMITH)
    pip(python, "install", *NEEDS, *(f"tree-sitter-{name}" for name in GRAMMARS))
    return python


def ours(folder: Path, package: str) -> Run:
    """Every candidate of ours, one-line and longer ones, with the equivalence filter."""
    wall, cpu = time.perf_counter(), time.process_time()
    patches: list[tuple[str, str]] = []
    for path in sorted((folder / package).rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        candidates, _ = generate("boltons@26.2.0", name, path.read_bytes(), max_lines=None)
        patches.extend((row.strategy, row.bug_patch) for row in candidates)
    return Run(time.perf_counter() - wall, time.process_time() - cpu, patches)


def theirs(python: Path, folder: Path, package: str, scratch: Path) -> Run:
    """Every candidate of SWE-smith, as its modifiers are shipped."""
    worker = Path(__file__).with_name("swesmith_worker.py")
    output = scratch / "run.json"
    subprocess.run([str(python), str(worker), str(folder), package, str(output)], check=True, cwd=scratch)
    found = json.loads(output.read_text())
    return Run(found["seconds"], found["cpu_seconds"], [(kind, patch) for kind, patch in found["patches"]])


def quality(folder: Path, patches: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Shares of useless candidates. Duplicates over all; the rest over a sample chosen by hash."""
    texts = [patch for _, patch in patches]
    sample = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode()).digest())[:SAMPLE]
    counts: Counter[str] = Counter()
    for patch in sample:
        path = patch.split("\n--- a/")[-1].removeprefix("--- a/").split("\n")[0].rstrip("\t")
        before = (folder / path).read_text()
        try:
            after = apply(before, patch)
            counts["same_tree"] += ast.dump(ast.parse(after)) == ast.dump(ast.parse(before))
            counts["multi_line"] += sum(line[:1] == "-" for line in patch.splitlines()) > 2
        except SyntaxError:
            counts["unparsable"] += 1
    share = {name: counts[name] / len(sample) for name in ("unparsable", "same_tree", "multi_line")}
    return {"duplicates": 1 - len(set(texts)) / len(texts), **share}


def apply(text: str, patch: str) -> str:
    """A unified diff applied where it says, since both generators diff against this very text."""
    lines = text.split("\n")
    shift = 0
    hunk: list[str] = []
    hunks: list[tuple[int, list[str]]] = []
    for line in patch.split("\n"):
        if line.startswith("@@"):
            hunk = []
            hunks.append((int(line.split()[1][1:].split(",")[0]), hunk))
        elif hunks and line[:1] in (" ", "-", "+"):
            hunk.append(line)
    for start, body in hunks:
        old = [line[1:] for line in body if line[0] != "+"]
        new = [line[1:] for line in body if line[0] != "-"]
        begin = max(0, start - 1) + shift
        lines[begin : begin + len(old)] = new
        shift += len(new) - len(old)
    return "\n".join(lines)


def report(mine: Sequence[Run], peer: Sequence[Run], folder: Path) -> dict[str, Any]:
    """Everything measured, as JSON."""

    def side(runs: Sequence[Run]) -> dict[str, Any]:
        return {
            "candidates": len(runs[0].patches),
            "kinds": dict(Counter(kind for kind, _ in runs[0].patches).most_common()),
            "cpu_seconds": [round(run.cpu_seconds, 3) for run in runs],
            "seconds": [round(run.seconds, 3) for run in runs],
            "per_cpu_second": [round(run.rate, 1) for run in runs],
            "median_per_cpu_second": round(statistics.median(run.rate for run in runs), 1),
            "quality": {name: round(value, 4) for name, value in quality(folder, runs[0].patches).items()},
        }

    left, right = side(mine), side(peer)
    ratio = left["median_per_cpu_second"] / right["median_per_cpu_second"]
    python = ".".join(map(str, sys.version_info[:3]))
    return {
        "subject": BOLTONS,
        "peer": SWESMITH,
        "python": python,
        "ours": left,
        "theirs": right,
        "ratio": ratio,
    }


def show(result: dict[str, Any], target: float) -> None:
    """The table."""
    left, right = result["ours"], result["theirs"]
    print(f"{result['subject']}, Python {result['python']}, one process each, runs alternating\n")
    print(f"{'':34}{'ours':>12}{result['peer']:>18}")
    for n, (a, b) in enumerate(zip(left["per_cpu_second"], right["per_cpu_second"], strict=True), 1):
        print(f"{f'candidates/CPU s, run {n}':34}{a:12.1f}{b:18.1f}")
    a, b = left["median_per_cpu_second"], right["median_per_cpu_second"]
    print(f"{'candidates/CPU s, median':34}{a:12.1f}{b:18.1f}")
    print(f"{'candidates':34}{left['candidates']:12}{right['candidates']:18}")
    print(f"{'kinds':34}{len(left['kinds']):12}{len(right['kinds']):18}")
    for name, label in (
        ("duplicates", "same patch as another"),
        ("unparsable", "does not parse"),
        ("same_tree", "same syntax tree as the original"),
        ("multi_line", "takes out more than one line"),
    ):
        print(f"{label:34}{left['quality'][name]:12.1%}{right['quality'][name]:18.1%}")
    verdict = "met" if result["ratio"] >= target else "MISSED"
    print(f"\nratio {result['ratio']:.1f}x, target {target:g}x: {verdict}")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--target", type=float, default=10.0, help="exit with 1 below this ratio")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="swesmith-") as temporary:
        scratch = Path(temporary)
        subject = scratch / "subject"
        pip(sys.executable, "install", "--no-deps", "--no-compile", "--target", str(subject), BOLTONS)
        python = install(scratch / "venv")
        mine, peer = [], []
        for _ in range(options.runs):
            mine.append(ours(subject, "boltons"))
            peer.append(theirs(python, subject, "boltons", scratch))
        result = report(mine, peer, subject)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result, options.target)
    return 0 if result["ratio"] >= options.target else 1


if __name__ == "__main__":
    sys.exit(main())
