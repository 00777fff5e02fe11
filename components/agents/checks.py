"""Test runs of one rollout: kept while the repository does not change, and shared where equal."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from components.agents.neighbours import companions
from components.agents.spectrum import Formula, Localization, localize
from components.agents.text import one_line, stable
from components.grading.runner import run_tests
from components.grading.testrun import Failure, TestRun
from components.records.repository import Recipe, TestStatus
from components.records.task import Task
from components.sandbox.base import Session

_GOOD = frozenset((TestStatus.PASSED, TestStatus.XFAILED, TestStatus.SKIPPED))
_BAD = frozenset((TestStatus.FAILED, TestStatus.ERROR, TestStatus.MISSING))
_TESTS = ("test_*.py", "*_test.py")


@dataclass(frozen=True)
class Report:
    """The result of tests, in the few words that a small model needs."""

    summary: str
    """E.g. `2 failed, 10 passed`."""
    passed: bool
    nothing: bool
    test: str = ""
    """The first test that failed."""
    exception: str = ""
    """Its exception."""
    frames: tuple[str, ...] = ()
    """Its innermost frames, outermost first."""
    cached: bool = False

    def text(self) -> str:
        """Summary, first failure and frames."""
        failure = [f"{self.test}: {self.exception}"] if self.test else []
        return "\n".join([self.summary, *failure, *self.frames])


class LocalizationCache:
    """Localisations of untouched tasks: every attempt at a task starts from the same one."""

    def __init__(self, size: int = 4096) -> None:
        self._size = size
        self._known: OrderedDict[str, Localization] = OrderedDict()
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    def get(self, key: str, compute: Callable[[], Localization]) -> Localization:
        """The localisation under that key, computed by the first who asks while others wait."""
        with self._lock:
            busy = self._busy.setdefault(key, threading.Lock())
        with busy:
            with self._lock:
                if (known := self._known.get(key)) is not None:
                    return known
            value = compute()
            with self._lock:
                self._known[key] = value
                while len(self._known) > self._size:
                    self._busy.pop(self._known.popitem(last=False)[0], None)
            return value


class Checks:
    """Runs the tests of a task in its session."""

    def __init__(
        self,
        session: Session,
        task: Task,
        recipe: Recipe,
        *,
        seconds: float,
        formula: Formula,
        companions: int,
        key: str,
        cache: LocalizationCache,
    ) -> None:
        self._session, self._task, self._recipe = session, task, recipe
        self._seconds, self._formula, self._companions = seconds, formula, companions
        self._key, self._cache = f"{key}\0{formula}\0{companions}", cache
        self._reports: dict[tuple[str, tuple[str, ...]], Report] = {}
        self._local: dict[str, Localization] = {}
        self.revision: str | None = ""
        """Identifies the state of the repository; empty: untouched; None: anybody's guess."""

    def changed(self, revision: str | None) -> None:
        """The repository is now in that state."""
        self.revision = revision

    def run(self, tests: Sequence[str]) -> Report:
        """Run tests, or reuse the run of the same tests on the same state."""
        key = (self.revision, tuple(tests)) if self.revision is not None else None
        if key is not None and (known := self._reports.get(key)) is not None:
            return Report(**{**known.__dict__, "cached": True})
        run = run_tests(self._session, tests, recipe=self._recipe, timeout=self._seconds)
        report = summarise(run)
        if key is not None:
            self._reports[key] = report
        return report

    def localize(self) -> tuple[Localization, bool]:
        """Where the failing tests point to, and whether this rollout had asked before."""
        if self.revision is not None and (known := self._local.get(self.revision)) is not None:
            return known, True
        untouched = self.revision == ""
        found = self._cache.get(self._key, self._localize) if untouched else self._localize()
        if self.revision is not None:
            self._local[self.revision] = found
        return found, False

    def source_files(self) -> list[str]:
        """Python files that may hold the bug."""
        return [path for path in self._within(self._recipe.source_paths) if path.endswith(".py")]

    def test_files(self) -> list[str]:
        """Files that pytest takes for tests by their names."""
        paths = self._within(self._recipe.test_paths)
        return [path for path in paths if any(PurePosixPath(path).match(name) for name in _TESTS)]

    def _within(self, roots: Sequence[str]) -> list[str]:
        """Files in these folders, and those that are named themselves; without any, all."""
        folders, exact = tuple(f"{root.rstrip('/')}/" for root in roots), frozenset(roots)
        files = self._session.files()
        return [path for path in files if not roots or path.startswith(folders) or path in exact]

    def _localize(self) -> Localization:
        named = self._task.fail_to_pass
        run = run_tests(
            self._session,
            self._beside(named),
            recipe=self._recipe,
            timeout=self._seconds,
            coverage=True,
        )
        failing = {
            test: _lines(run, test) for test in named if run.statuses.get(test, TestStatus.MISSING) in _BAD
        }
        if not failing:
            return Localization(note="no test named by the task fails now")
        passing = {
            test: _lines(run, test)
            for test, status in run.statuses.items()
            if status is TestStatus.PASSED and test not in failing
        }
        executed = {path for lines in failing.values() for path in lines}
        sources = {path: self._text(path) for path in self.source_files() if path in executed}
        failures = [run.failures[test] for test in failing if test in run.failures]
        tracebacks = [[(frame.path, frame.line) for frame in failure.frames] for failure in failures]
        return localize(failing, passing, sources, self._formula, tracebacks)

    def _beside(self, named: Sequence[str]) -> list[str]:
        files: dict[str, list[str]] = {}
        for test in named:
            files.setdefault(test.partition("::")[0], []).append(test)
        return [
            test
            for path in sorted(files)
            for test in companions(self._text(path), path, files[path], self._companions)
        ]

    def _text(self, path: str) -> str:
        return self._session.read(path).decode("utf-8", errors="surrogateescape")


def _lines(run: TestRun, test: str) -> dict[str, frozenset[int]]:
    return {path: frozenset(lines) for path, lines in run.coverage.get(test, {}).items()}


def summarise(run: TestRun) -> Report:
    """The few words about a run."""
    bad = [test for test, status in run.statuses.items() if status in _BAD]
    good = sum(1 for status in run.statuses.values() if status in _GOOD)
    counts = [f"{len(bad)} failed"] if bad else []
    counts += [f"{good} passed"] if good else []
    if run.timed_out:
        counts.append("timed out" + (f" in {run.hung}" if run.hung else ""))
    elif run.killed:
        counts.append(f"killed: {run.killed}")
    first = next(((test, run.failures[test]) for test in bad if test in run.failures), None)
    if first is None:
        first = next(iter(run.failures.items()), None)
    ended = not run.timed_out and not run.killed
    return Report(
        summary=", ".join(counts) or "no tests ran",
        passed=not bad and good > 0 and ended,
        nothing=not run.statuses and ended and not run.failures,
        test=first[0] if first else "",
        exception=exception(first[1]) if first else "",
        frames=_frames(first[1]) if first else (),
    )


def exception(failure: Failure) -> str:
    """Type and first line of an exception, without what differs from run to run."""
    kind = failure.exception.rpartition(".")[2]
    message = one_line(stable(failure.message).removeprefix(f"{kind}: "), 120)
    return f"{kind}: {message}" if message else kind


def _frames(failure: Failure, limit: int = 3) -> tuple[str, ...]:
    return tuple(f"  {frame.path}:{frame.line} in {frame.function}" for frame in failure.frames[-limit:])
