"""Classify a failed rollout by the first stage of the work at which it went wrong.

Classes after SWE-Lego (arXiv 2601.01426): failed to reproduce; wrong file; right file, wrong place; wrong fix; turns
exhausted. Ours besides: looped, empty patch, malformed call, infrastructure.
"""

from unidiff import PatchSet
from unidiff.errors import UnidiffParseError

from components.records.evaluation import Diagnosis, FailureClass
from components.records.task import Task
from components.records.trajectory import ExitStatus, Trajectory

_BY_STATUS = {
    ExitStatus.INFRASTRUCTURE: FailureClass.INFRASTRUCTURE,
    ExitStatus.MALFORMED: FailureClass.MALFORMED_CALL,
    ExitStatus.LOOPED: FailureClass.LOOPED,
}
_OUT_OF_BUDGET = {ExitStatus.TURN_LIMIT, ExitStatus.TOKEN_LIMIT, ExitStatus.TIME_LIMIT}


def diagnose(trajectory: Trajectory, task: Task) -> Diagnosis | None:
    """The class of a failed rollout; None when it resolved its task."""
    if trajectory.grade is not None and trajectory.grade.resolved:
        return None
    failure, detail = _classify(trajectory, task)
    return Diagnosis(
        trajectory_id=trajectory.id,
        task_id=task.id,
        repository_id=task.repository_id,
        strategy=task.strategy,
        function=task.function,
        failure=failure,
        detail=detail,
    )


def _classify(trajectory: Trajectory, task: Task) -> tuple[FailureClass, str]:
    if trajectory.grade is not None and trajectory.grade.infrastructure:
        return FailureClass.INFRASTRUCTURE, trajectory.grade.infrastructure
    if trajectory.exit_status in _BY_STATUS:
        return _BY_STATUS[trajectory.exit_status], _last_error(trajectory)
    if not trajectory.patch:
        reached = _reached(trajectory, task)
        if trajectory.exit_status in _OUT_OF_BUDGET:
            return FailureClass.TURNS_EXHAUSTED, reached
        return FailureClass.EMPTY_PATCH, reached
    touched = _changed_lines(trajectory.patch)
    if task.path not in touched:
        return FailureClass.WRONG_FILE, ", ".join(sorted(touched))
    gold = _changed_lines(task.gold_patch).get(task.path, set())
    if not touched[task.path] & gold:
        return FailureClass.WRONG_PLACE, f"{task.path}:{min(touched[task.path], default=0)}"
    if trajectory.tests_visible and not _ran_tests(trajectory):
        return FailureClass.NO_REPRODUCTION, "no test was run before the patch was handed in"
    return FailureClass.WRONG_FIX, f"{task.path}:{min(gold, default=0)}"


def _changed_lines(patch: str) -> dict[str, set[int]]:
    """Path -> line numbers, in the file before the patch, that it removes or inserts after."""
    try:
        files = PatchSet(patch)
    except UnidiffParseError:
        return {}
    changed: dict[str, set[int]] = {}
    for file in files:
        lines = changed.setdefault(file.path, set())
        for hunk in file:
            last = hunk.source_start
            for line in hunk:
                if line.source_line_no is not None:
                    last = line.source_line_no
                if line.is_removed or line.is_added:
                    lines.add(last)
    return changed


def _reached(trajectory: Trajectory, task: Task) -> str:
    """How near the edits came that were tried and taken back."""
    near = "no edit"
    for step in trajectory.steps:
        for call in step.tool_calls:
            if call.name != "edit" or not isinstance(call.arguments, dict):
                continue
            if call.arguments.get("path") != task.path:
                near = near if near != "no edit" else "edited other files"
                continue
            old = {line.strip() for line in str(call.arguments.get("old", "")).splitlines()}
            buggy = {line[1:].strip() for line in task.gold_patch.splitlines() if line.startswith("-")}
            if old & buggy:
                return "edited the right line"
            near = "edited the right file"
    return near


def _ran_tests(trajectory: Trajectory) -> bool:
    calls = [call for step in trajectory.steps for call in step.tool_calls]
    return any(
        call.name in ("test", "bash", "edit")
        or (call.name == "search" and isinstance(call.arguments, dict) and not call.arguments.get("query"))
        for call in calls
    )


def _last_error(trajectory: Trajectory) -> str:
    errors = [call.error for step in trajectory.steps for call in step.tool_calls if call.error]
    return errors[-1] if errors else ""
