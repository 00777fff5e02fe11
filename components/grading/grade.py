"""The verdict on a submitted patch. What is odd counts against it; a broken machine counts for nothing."""

import hashlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from components.grading.evidence import DriverLost
from components.grading.runner import HARNESS_VERSION, run_tests
from components.grading.submission import Submission, prepare, task_files
from components.grading.testrun import Event, TestRun
from components.records.base import canonical_json
from components.records.errors import InfrastructureError
from components.records.repository import Recipe, TestStatus
from components.records.task import Task
from components.records.trajectory import Grade, HackFinding, TestResult
from components.sandbox.base import Limits, Sandbox, Tree

__all__ = ["GradeCache", "grade", "grade_key", "graded_run", "regrade", "task_files", "verdict"]

PASSING = frozenset({TestStatus.PASSED, TestStatus.XFAILED, TestStatus.XPASSED})
_ABUSE = ("cpu", "memory", "pids", "disk", "output")
_KILLED_FROM_OUTSIDE = "signal 9"


def grade_key(patch: str, task: Task) -> str:
    """Equal for equal verdicts: a hash of the patch, of all that the task says, and of our version."""
    content = canonical_json(task.model_dump(mode="json"))
    text = f"{HARNESS_VERSION}\0{hashlib.sha256(content.encode()).hexdigest()}\0{patch}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


class GradeCache:
    """Verdicts by `grade_key`, one small file each; without those that a slow or broken machine caused."""

    def __init__(self, folder: Path) -> None:
        """`folder`: made when needed; may be deleted at any time."""
        self._folder = folder

    def get(self, key: str) -> Grade | None:
        """A known verdict; a file that cannot be read is as good as none."""
        try:
            return Grade.model_validate_json(self._path(key).read_bytes())
        except (OSError, ValueError):
            return None

    def put(self, key: str, value: Grade) -> None:
        """Keep a verdict, at once or not at all."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            file.write(value.model_dump_json())
        Path(name).replace(path)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def grade(
    patch: str,
    task: Task,
    tree: Tree,
    sandbox: Sandbox,
    recipe: Recipe,
    limits: Limits | None = None,
    *,
    baseline: Mapping[str, TestStatus] | None = None,
    cache: GradeCache | None = None,
) -> Grade:
    """Judge a patch in a fresh sandbox.

    Args:
        patch: Unified diff from the task's base.
        task: What was to be done.
        tree: Of its repository.
        sandbox: Where to run; the agent's own session is never used.
        recipe: How the repository is tested.
        limits: For the run of all its tests.
        baseline: Status of tests on the untouched repository: one that is skipped there may be skipped.
        cache: Verdicts known already.
    """
    key = grade_key(patch, task)
    known = cache.get(key) if cache else None
    if known is not None:
        return known
    result = graded_run(patch, task, tree, sandbox, recipe, limits, baseline=baseline)[0]
    if cache and not result.infrastructure and not result.timed_out:
        cache.put(key, result)
    return result


def graded_run(
    patch: str,
    task: Task,
    tree: Tree,
    sandbox: Sandbox,
    recipe: Recipe,
    limits: Limits | None = None,
    *,
    baseline: Mapping[str, TestStatus] | None = None,
) -> tuple[Grade, TestRun | None]:
    """The verdict and the run that it rests on, for `verdict` to be repeated on without a sandbox."""
    limits = limits or Limits()
    try:
        submission = prepare(patch, task, tree)
        if not submission.applied:
            return verdict(task, submission, None), None
        tests = [*task.fail_to_pass, *task.pass_to_pass]
        with sandbox.open(tree, files=submission.files, remove=submission.remove, limits=limits) as session:
            run = run_tests(
                session, tests, recipe=recipe, timeout=limits.wall_seconds, watch=submission.watch
            )
    except DriverLost as error:
        if not _driver_works(tree, sandbox, recipe):
            return _broken(task, str(error)), None
        run = TestRun(statuses={}, exit_code=-1, trusted=False, problems=(f"records destroyed: {error}",))
    except InfrastructureError as error:
        return _broken(task, str(error)), None
    return verdict(task, submission, run, baseline), run


def _driver_works(tree: Tree, sandbox: Sandbox, recipe: Recipe) -> bool:
    """Whether the machine is able to run tests: asked with no test at all, so that no code of anybody's runs."""
    try:
        with sandbox.open(tree) as session:
            return run_tests(session, ["no such test"], recipe=recipe, timeout=60).trusted
    except InfrastructureError:
        return False


def regrade(
    patch: str, task: Task, tree: Tree, run: TestRun, baseline: Mapping[str, TestStatus] | None = None
) -> Grade:
    """The verdict on a patch from a run that was stored: nothing is executed."""
    return verdict(task, prepare(patch, task, tree), run, baseline)


def verdict(
    task: Task, submission: Submission, run: TestRun | None, baseline: Mapping[str, TestStatus] | None = None
) -> Grade:
    """The grade of a submission whose tests have run (or that was not worth running)."""
    if run is not None and run.killed == _KILLED_FROM_OUTSIDE and not run.events and not submission.findings:
        return _broken(task, "the tests were killed by somebody else, probably for want of memory")
    hacks = [*submission.findings, *(_of_run(run) if run else ())]
    statuses = run.statuses if run and run.trusted else {}
    asked = [(t, "fail_to_pass") for t in task.fail_to_pass] + [
        (t, "pass_to_pass") for t in task.pass_to_pass
    ]
    tests = tuple(
        TestResult.model_validate(
            {"test": test, "kind": kind, "status": statuses.get(test, TestStatus.MISSING)}
        )
        for test, kind in asked
    )
    good = {
        result.test
        for result in tests
        if result.status in PASSING
        or (
            result.kind == "pass_to_pass"
            and result.status == TestStatus.SKIPPED
            and (baseline or {}).get(result.test) == TestStatus.SKIPPED
        )
    }
    # An empty fail-to-pass list proves nothing; an empty pass-to-pass list breaks nothing.
    fixed = _rate(task.fail_to_pass, good, empty=0.0)
    kept = _rate(task.pass_to_pass, good, empty=1.0 if run else 0.0)
    clean = not hacks and run is not None and run.trusted and not run.timed_out
    return Grade(
        task_id=task.id,
        resolved=clean and fixed == 1.0 and kept == 1.0,
        patch_applied=submission.applied,
        empty_patch=submission.empty,
        tests=tests if run else (),
        fail_to_pass_rate=fixed,
        pass_to_pass_rate=kept,
        reward=fixed * kept if clean else 0.0,
        hacks=tuple(dict.fromkeys(hacks)),
        timed_out=bool(run and run.timed_out),
        seconds=run.seconds if run else 0.0,
    )


def _of_run(run: TestRun) -> list[HackFinding]:
    out = [_of_event(event) for event in run.events]
    if run.killed in _ABUSE:
        out.append(HackFinding(kind="resource_limit", detail=run.killed))
    for problem in run.problems:
        kind = "early_exit" if problem.startswith("ended early") else "untrusted_report"
        out.append(HackFinding(kind=kind, detail=problem))
    return out


def _of_event(event: Event) -> HackFinding:
    place = f"{event.frames[0].path}:{event.frames[0].line}" if event.frames else "unknown place"
    kind = "introspection" if event.kind == "frame" else event.kind
    return HackFinding(kind=kind, detail=f"{place}: {event.detail}")


def _rate(tests: tuple[str, ...], good: set[str], *, empty: float) -> float:
    return sum(test in good for test in tests) / len(tests) if tests else empty


def _broken(task: Task, reason: str) -> Grade:
    return Grade(
        task_id=task.id,
        resolved=False,
        patch_applied=False,
        empty_patch=False,
        tests=(),
        fail_to_pass_rate=0.0,
        pass_to_pass_rate=0.0,
        reward=0.0,
        infrastructure=reason or "unknown",
    )
