"""Runs the tests of many buggy trees in one sandbox, one after the other. See `inside.warm`."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import components.grading
from components.grading.evidence import test_run
from components.grading.testrun import TestRun
from components.records.errors import InfrastructureError
from components.records.repository import Recipe
from components.sandbox.base import TIMED_OUT, ExecResult, Killed, Limits, Sandbox, Tree

_GRADING = ("channel", "coverage", "integrity", "recorder", "main")
_RESULTS = "FLYWHEEL_PROBES"
_START = """
import json, os, sys
sys.path[:] = [path for path in sys.path if path]
{boot}
payload = json.loads(sys.stdin.buffer.readline())
sys.meta_path.insert(0, Finder(payload["sources"]))
from components.validation.inside.warm import main
main(payload["config"], os.environ.pop({results!r}))
"""
_COLLECT_SECONDS = 60.0
_XCPU = 24


@dataclass(frozen=True)
class Run:
    """Tests that one process runs, and how long it may."""

    tests: tuple[str, ...]
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True)
class Probe:
    """One buggy tree and what to run in it."""

    files: Mapping[str, bytes]
    """Path -> content: what differs from the pristine tree."""
    runs: tuple[Run, ...]
    """One after the other, each in a process of its own, until one passes or does not end by itself."""


@cache
def _program() -> tuple[str, dict[str, str]]:
    grading = Path(next(iter(components.grading.__path__))) / "inside"
    texts = {f"components.grading.inside.{name}": (grading / f"{name}.py").read_text() for name in _GRADING}
    here = Path(__file__).with_name("inside") / "warm.py"
    texts["components.validation.inside.warm"] = here.read_text()
    packages = {".".join(name.split(".")[:n]): "" for name in texts for n in range(1, 4)}
    return _START.format(boot=(grading / "boot.py").read_text(), results=_RESULTS), {**packages, **texts}


def run_warm(
    sandbox: Sandbox, tree: Tree, recipe: Recipe, probes: Sequence[Probe], limits: Limits
) -> list[list[TestRun]]:
    """What the runs of each probe told, in order; at least one per probe.

    Raises:
        InfrastructureError: The driver did not reach the end of the probes.
    """
    if not probes:
        return []
    start, sources = _program()
    config: dict[str, Any] = {
        "arguments": ["-q", "--tb=no", "--continue-on-collection-errors", *recipe.pytest_args],
        "sources": list(recipe.source_paths),
        "collect_seconds": _COLLECT_SECONDS,
        "probes": [
            {
                "files": {path: data.decode("latin-1") for path, data in probe.files.items()},
                "runs": [asdict(run) for run in probe.runs],
            }
            for probe in probes
        ],
    }
    stdin = json.dumps({"sources": sources, "config": config}).encode() + b"\n"
    wall = 2 * _COLLECT_SECONDS + sum(run.wall_seconds + 2 for probe in probes for run in probe.runs)
    room = limits.model_copy(update={"wall_seconds": wall, "cpu_seconds": max(limits.cpu_seconds, wall)})
    with (
        sandbox.open(tree, limits=room) as session,
        tempfile.TemporaryDirectory(prefix="flywheel-probes-") as folder,
    ):
        result = session.exec(
            ["/env/bin/python", "-s", "-S", "-c", start],
            stdin=stdin,
            collect=Path(folder),
            collect_env=_RESULTS,
        )
        return [_read_probe(Path(folder), n, probe, result) for n, probe in enumerate(probes)]


def _read_probe(folder: Path, index: int, probe: Probe, driver: ExecResult) -> list[TestRun]:
    paths = [folder / f"{index}.{number}.jsonl" for number in range(len(probe.runs))]
    return [
        _read(path, run, driver)
        for number, (path, run) in enumerate(zip(paths, probe.runs, strict=True))
        if number == 0 or path.exists()
    ]


def _read(path: Path, run: Run, driver: ExecResult) -> TestRun:
    records: list[dict[str, Any]] = []
    if path.is_file():
        # A child that was killed may leave half a line; only the driver's last one must be whole.
        for line in path.read_bytes().split(b"\n"):
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
    if not records or records[-1].get("kind") != "end":
        raise InfrastructureError(
            f"the driver of a batch of tests was lost (exit code {driver.exit_code}, {driver.killed or 'no limit'}): "
            + (driver.stderr or driver.stdout).strip()[-300:].replace("\n", " | ")
        )
    if broken := [record["trace"] for record in records if record["kind"] == "driver"]:
        raise InfrastructureError(f"the driver of a batch of tests failed: {broken[0].strip()[-300:]}")
    end = records.pop()
    code, killed = _ended(end["status"])
    result = ExecResult(
        exit_code=code, stdout="", stderr="", timed_out=code == TIMED_OUT, killed=killed,
        seconds=end["seconds"], truncated=False,
    )  # fmt: skip
    records.insert(0, {"kind": "hello"})
    if code != TIMED_OUT:
        records.append({"kind": "done", "exit": code, "tests": sum(r["kind"] == "test" for r in records)})
    return test_run(run.tests, result, records, ())


def _ended(status: int | None) -> tuple[int, Killed]:
    """Exit code and limit from a wait status; None: its time was up."""
    if status is None:
        return TIMED_OUT, "wall"
    number = status & 0x7F
    if number == _XCPU:
        return TIMED_OUT, "cpu"
    return (128 + number if number else status >> 8), ""
