"""One flat row per trajectory: what the expectations look at.

No column is ever null: Great Expectations skips nulls in row-level expectations, so a missing value would
pass. What is not known has a value that fails.
"""

from collections.abc import Collection, Mapping, Sequence

from components.gates.dedup import text_digest
from components.gates.licences import permissive
from components.grading.protect import PROTECTED, is_protected
from components.records.base import Record
from components.records.repository import Repository
from components.records.task import Task
from components.records.trajectory import ExitStatus, Step, Trajectory

CHARACTERS_PER_TOKEN = 3
"""A low estimate for code, for models that report no token counts (the demonstrator)."""


class Feature(Record):
    """A trajectory in numbers."""

    id: str
    task_id: str
    task_known: bool
    repository: str
    repository_known: bool
    never_train: bool
    licence: str
    licence_permissive: bool
    licence_evidence: bool
    split: str
    """Of the task; empty when the task is not known."""
    teacher: str
    demonstrator: bool
    exit_status: str
    ends_with_submit: bool
    graded: bool
    infrastructure: bool
    """The machine failed in the rollout or in grading."""
    resolved: bool
    reward: float
    hacks: int
    n_steps: int
    """Agent turns that count (rewound ones do not)."""
    n_rewound: int
    n_tool_calls: int
    n_failed_calls: int
    n_tokens: int
    """Longest context, reported by the model or else estimated from the text."""
    patch_parses: bool
    patch_bytes: int
    patch_files: int
    test_files_touched: int
    """Files of the patch that a submission may not change: tests, and what configures them."""
    statement_leak: bool
    """The problem statement holds a line of the fix."""
    heldout_overlap: str
    """The held-out task that the trajectory's task resembles, and in what; empty: none."""
    text_sha256: str
    duplicate_of: str = ""
    """The trajectory that stays in its place; itself when it stays; empty: quarantined before the search."""


def active(trajectory: Trajectory) -> list[Step]:
    """The steps that the final context holds."""
    return [step for step in trajectory.steps if not step.rewound]


def text_of(trajectory: Trajectory) -> str:
    """What makes a trajectory what it is: its task as told, what the agent said, and its patch.

    System prompts and observations are left out: all rows share the first, and the second follow from
    the calls.
    """
    told = [step.message for step in active(trajectory) if step.source != "system"]
    return "\n".join([*told, trajectory.patch])


def features(
    trajectories: Sequence[Trajectory],
    tasks: Mapping[str, Task],
    repositories: Mapping[str, Repository],
    *,
    allowed_licences: Collection[str],
    overlaps: Mapping[str, Sequence[str]],
) -> list[Feature]:
    """The feature row of every trajectory, in order."""
    licensed = {row: permissive(repo.licence.spdx, allowed_licences) for row, repo in repositories.items()}
    return [
        _feature(
            trajectory,
            tasks.get(trajectory.task_id),
            repositories.get(trajectory.repository_id),
            licensed.get(trajectory.repository_id, False),
            "; ".join(overlaps.get(trajectory.task_id, ())),
        )
        for trajectory in trajectories
    ]


def _feature(
    trajectory: Trajectory, task: Task | None, repository: Repository | None, licensed: bool, overlap: str
) -> Feature:
    agent = [step for step in active(trajectory) if step.source == "agent"]
    calls = [call for step in agent for call in step.tool_calls]
    grade = trajectory.grade
    changed = changed_files(trajectory.patch)
    protected = (*PROTECTED, *(task.protected_paths if task else ()))
    text = text_of(trajectory)
    licence = repository.licence if repository else None
    return Feature(
        id=trajectory.id,
        task_id=trajectory.task_id,
        task_known=task is not None and task.repository_id == trajectory.repository_id,
        repository=trajectory.repository_id,
        repository_known=repository is not None,
        never_train=repository is None or repository.never_train,
        licence=licence.spdx if licence else "NOASSERTION",
        licence_permissive=licensed,
        licence_evidence=bool(licence and licence.evidence and licence.evidence_sha256),
        split=task.split if task else "",
        teacher=trajectory.model,
        demonstrator=trajectory.demonstrator,
        exit_status=trajectory.exit_status.value,
        ends_with_submit=trajectory.exit_status is ExitStatus.SUBMITTED,
        graded=grade is not None and grade.task_id == trajectory.task_id,
        infrastructure=trajectory.exit_status is ExitStatus.INFRASTRUCTURE
        or (grade is not None and grade.mask),
        resolved=grade is not None and grade.resolved and not grade.mask,
        reward=grade.reward if grade else 0.0,
        hacks=len(grade.hacks) if grade else 0,
        n_steps=len(agent),
        n_rewound=sum(step.rewound for step in trajectory.steps),
        n_tool_calls=len(calls),
        n_failed_calls=sum(bool(call.error) for call in calls),
        n_tokens=_tokens(trajectory),
        patch_parses=changed is not None,
        patch_bytes=len(trajectory.patch.encode()),
        patch_files=len(changed or ()),
        test_files_touched=sum(is_protected(path, protected) for path in changed or ()),
        statement_leak=task is None or statement_leaks(task),
        heldout_overlap=overlap,
        text_sha256=text_digest(text),
    )


def changed_files(patch: str) -> tuple[str, ...] | None:
    """Paths that a patch touches, old and new names; None when it cannot be parsed."""
    from unidiff import PatchSet
    from unidiff.errors import UnidiffParseError

    try:
        files = PatchSet(patch)
    except UnidiffParseError:
        return None
    if patch.strip() and not files:
        return None
    names = {name for file in files for name in (file.source_file, file.target_file)}
    return tuple(sorted({name.removeprefix("a/").removeprefix("b/") for name in names - {"/dev/null"}}))


def statement_leaks(task: Task) -> bool:
    """Does a problem statement hold a line of the fix?

    Lines of the bug are cut out first: a traceback may quote them, and a bug that adds something to a
    line holds the fixed line as a part. Lines too short to say anything (`else:`) do not count.
    """
    added = _lines(task.gold_patch, "+")
    removed = sorted(_lines(task.gold_patch, "-"), key=len, reverse=True)
    for statement in (task.problem_statement, task.problem_statement_hidden):
        for line in removed:
            statement = statement.replace(line, "")
        if any(line in statement for line in added - set(removed)):
            return True
    return False


def _lines(patch: str, sign: str, shortest: int = 12) -> set[str]:
    lines = (line[1:].strip() for line in patch.splitlines() if line.startswith(sign))
    return {line for line in lines if len(line) >= shortest and not line.startswith((sign * 2, "a/", "b/"))}


def _tokens(trajectory: Trajectory) -> int:
    steps = active(trajectory)
    reported = max((step.prompt_tokens + step.completion_tokens for step in steps), default=0)
    if reported:
        return reported
    characters = sum(
        len(step.message) + len(step.reasoning) + sum(len(seen.content) for seen in step.observations)
        for step in steps
    )
    return characters // CHARACTERS_PER_TOKEN
