"""Runs a repository's tests in a sandbox, once, and trusts nothing but signed records.

A driver goes into the sandbox through standard input, with a key made for this run. It verifies where pytest
comes from, records every test with an audit hook that alone holds the key (see `inside.channel`), watches
what the code under test does, and ends with a record that holds the number of tests. The records are
compared with each other, with the key and with the exit code; whatever does not fit makes the run untrusted.
"""

import json
import secrets
import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from components.grading.evidence import read_records, test_run
from components.grading.testrun import TestRun
from components.records.repository import Recipe
from components.sandbox.base import Session

HARNESS_VERSION = 1
"""Raised whenever a verdict could change: part of `grade_key`."""

RESULT_ENV = "FLYWHEEL_RESULT"
_MODULES = ("channel", "coverage", "integrity", "recorder", "main")
_PACKAGE = "components.grading.inside"
# `-s -S`: no user site, no sitecustomize, no .pth files. Not `-I`, which would undo PYTHONHASHSEED.
_PYTHON = ("/env/bin/python", "-s", "-S", "-B", "-c")
_START = """
import sys
sys.path[:] = [path for path in sys.path if path]
{boot}
main, config, key, result = boot()
del boot, Finder
main(config, key.pop(), result)
"""


@cache
def _sources() -> tuple[str, dict[str, str]]:
    folder = Path(__file__).with_name("inside")
    texts = {f"{_PACKAGE}.{name}": (folder / f"{name}.py").read_text() for name in _MODULES}
    parts = _PACKAGE.split(".")
    packages = {".".join(parts[: n + 1]): "" for n in range(len(parts))}
    return _START.format(boot=(folder / "boot.py").read_text()), {**packages, **texts}


def run_tests(
    session: Session,
    tests: Sequence[str],
    *,
    recipe: Recipe,
    timeout: float,
    fail_fast: bool = False,
    coverage: bool = False,
    seed: str = "",
    watch: Mapping[str, Collection[int]] | None = None,
) -> TestRun:
    """Run tests exactly once.

    Args:
        session: Where; its working folder is the repository.
        tests: Node ids, files or folders; empty means the recipe's test paths.
        recipe: How the repository is tested.
        timeout: Seconds for all of it.
        fail_fast: Stop at the first failure.
        coverage: Record the lines that each test executes.
        seed: Not empty: run in an order that depends on it.
        watch: File -> lines; what code there does beyond computing becomes events of the run.

    Returns:
        A status for each test asked for, and whether the report can be trusted.

    Raises:
        InfrastructureError: The sandbox failed, or there is no sign that the driver ever started (`DriverLost`).
    """
    boot, sources = _sources()
    key = secrets.token_bytes(32)
    # Tracebacks are not read, since the records hold them: the kind for which pytest parses no source is the fastest.
    arguments = ["-q", "--tb=native", "--color=no", "--continue-on-collection-errors", *recipe.pytest_args]
    config = {
        "tests": list(tests),
        "test_paths": list(recipe.test_paths),
        "trusted": list(recipe.test_paths),
        "sources": list(recipe.source_paths),
        "arguments": [*arguments, *(["--maxfail=1"] if fail_fast else [])],
        "coverage": coverage,
        "seed": seed,
        "watch": {path: sorted(lines) for path, lines in (watch or {}).items()},
    }
    payload = {"sources": sources, "config": config, "key": key.hex(), "result": RESULT_ENV}
    stdin = json.dumps(payload).encode() + b"\n"
    with tempfile.TemporaryDirectory(prefix="flywheel-result-") as folder:
        result = session.exec(
            [*_PYTHON, boot], timeout=timeout, stdin=stdin, collect=Path(folder), collect_env=RESULT_ENV
        )
        records, problems = read_records(Path(folder), key)
    return test_run(tests, result, records, problems)
