"""What the untouched repository does: its suite run several times over, and what covers what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from components.grading.runner import run_tests
from components.grading.testrun import TestRun
from components.records.errors import InputError
from components.records.repository import BaselineTest, Coverage, Recipe, TestStatus
from components.repos.config import Order, RepositoryEntry
from components.repos.layout import source_files
from components.repos.linemap import LineMap
from components.sandbox.base import Limits, Sandbox, Tree


@dataclass(frozen=True)
class Baseline:
    """Every test of a repository, and the lines that its stable tests execute."""

    tests: list[BaselineTest]
    coverage: list[Coverage]
    suite_seconds: float
    """The longest of the runs."""
    coverage_seconds: float


def take_baseline(
    sandbox: Sandbox,
    tree: Tree,
    recipe: Recipe,
    entry: RepositoryEntry,
    *,
    orders: Sequence[Order],
    seed: int,
) -> Baseline:
    """Run the suite once per order, then once more to see which test executes which lines.

    Raises:
        InputError: There are no tests, none is stable, or the suite does not end.
    """
    runs = []
    for turn, order in enumerate(orders):
        shuffled = f"{seed}/{turn}" if order == "shuffle" else ""
        runs.append(_run(sandbox, tree, recipe, entry, seed=shuffled))
    tests = merge(entry.id, runs)
    if not tests:
        raise InputError(f"{entry.key}: no tests in {', '.join(recipe.test_paths)}; {_why(runs[0])}")
    stable = {test.test for test in tests if test.stable}
    if not stable:
        raise InputError(f"{entry.key}: none of {len(tests)} tests passes in every run; {_why(runs[0])}")
    traced = _run(sandbox, tree, recipe, entry, coverage=True)
    sources = {path: LineMap.of((tree.repo / path).read_bytes()) for path in source_files(recipe, tree.repo)}
    return Baseline(
        tests=tests,
        coverage=coverage_rows(entry.id, traced.coverage, stable, sources),
        suite_seconds=max(run.seconds for run in runs),
        coverage_seconds=traced.seconds,
    )


def merge(repository_id: str, runs: Sequence[TestRun]) -> list[BaselineTest]:
    """One row per test that any run knows. Stable: passed in every run; a test that a run lacks is not."""
    names = sorted({test for run in runs for test in run.statuses})
    rows = []
    for name in names:
        statuses = tuple(run.statuses.get(name, TestStatus.MISSING) for run in runs)
        stable = all(status is TestStatus.PASSED for status in statuses)
        rows.append(BaselineTest(repository_id=repository_id, test=name, statuses=statuses, stable=stable))
    return rows


def coverage_rows(
    repository_id: str,
    coverage: Mapping[str, Mapping[str, Sequence[int]]],
    tests: set[str],
    sources: Mapping[str, LineMap],
) -> list[Coverage]:
    """One row per test and source file, with whole statements in place of the lines a tracer reports.

    Under no test: what runs while modules are imported, which may leave something behind for every test.
    """
    return [
        Coverage(repository_id=repository_id, test=test, path=path, lines=sources[path].expand(lines))
        for test, files in sorted(coverage.items())
        if test in tests or not test
        for path, lines in sorted(files.items())
        if path in sources and lines
    ]


def _run(
    sandbox: Sandbox,
    tree: Tree,
    recipe: Recipe,
    entry: RepositoryEntry,
    *,
    seed: str = "",
    coverage: bool = False,
) -> TestRun:
    limits = Limits(
        wall_seconds=entry.suite_seconds,
        cpu_seconds=2 * entry.suite_seconds,
        memory_mb=entry.memory_mb,
        pids=256,
        disk_mb=1024,
    )
    with sandbox.open(tree, limits=limits) as session:
        run = run_tests(session, (), recipe=recipe, timeout=entry.suite_seconds, coverage=coverage, seed=seed)
    if run.timed_out:
        where = f" (it hung in {run.hung})" if run.hung else ""
        raise InputError(
            f"{entry.key}: its suite took more than {entry.suite_seconds:g} s{where}; raise "
            "suite_seconds, or leave tests out with recipe.pytest_args"
        )
    if run.killed:
        raise InputError(f"{entry.key}: its suite was ended ({run.killed}); raise that limit in its entry")
    if not run.trusted:
        problems = "; ".join(run.problems[:3])
        raise InputError(f"{entry.key}: the report of its suite cannot be trusted: {problems}")
    return run


def _why(run: TestRun) -> str:
    """The likeliest reason that tests are missing or fail."""
    for test, failure in sorted(run.failures.items()):
        return f"{test}: {failure.exception} {failure.message}".replace("\n", " ")[:300]
    said = [line for line in run.output.splitlines() if line.strip()]
    return f"pytest says: {said[-1][:200]}" if said else "pytest collected nothing"
