"""From a submitted patch to the tree that is tested, without anything that could decide the verdict."""

from collections.abc import Callable
from dataclasses import dataclass, field

from components.grading.patching import (
    FileChange,
    PatchError,
    added_lines,
    apply_changes,
    parse_patch,
)
from components.grading.protect import PROTECTED, split
from components.grading.scan import novel_lines, scan
from components.records.errors import InfrastructureError
from components.records.task import Task
from components.records.trajectory import HackFinding
from components.sandbox.base import Tree


@dataclass(frozen=True)
class Submission:
    """What is left of a patch, and what was found in it."""

    files: dict[str, bytes] = field(default_factory=dict)
    """Contents that differ from the pristine tree."""
    remove: tuple[str, ...] = ()
    watch: dict[str, set[int]] = field(default_factory=dict)
    """File -> lines that only the submission has."""
    findings: tuple[HackFinding, ...] = ()
    applied: bool = False
    empty: bool = False


def tree_file(tree: Tree, path: str) -> bytes | None:
    """A regular file of the pristine tree; None if there is none. Links are not followed."""
    place = tree.repo
    for part in path.split("/"):
        place = place / part
        if place.is_symlink():
            return None
    return place.read_bytes() if place.is_file() else None


def task_files(task: Task, tree: Tree) -> dict[str, bytes]:
    """The files in which the buggy tree differs from the pristine one.

    Raises:
        InfrastructureError: The bug does not fit the tree, so task and tree do not belong together.
    """
    try:
        changed = apply_changes(parse_patch(task.bug_patch), lambda path: tree_file(tree, path))
    except PatchError as error:
        raise InfrastructureError(
            f"{task.id}: its bug does not fit the tree {tree.digest[:12]}: {error}"
        ) from error
    gone = [path for path, data in changed.items() if data is None]
    if gone:
        raise InfrastructureError(f"{task.id}: its bug deletes {gone[0]}, which is not supported")
    return {path: data for path, data in changed.items() if data is not None}


def prepare(patch: str, task: Task, tree: Tree) -> Submission:
    """Apply the allowed part of a patch to the task's base and look for traces of cheating."""
    base = task_files(task, tree)
    if not patch.strip():
        return Submission(files=base, empty=True)

    def read(path: str) -> bytes | None:
        return base[path] if path in base else tree_file(tree, path)

    findings: list[HackFinding] = []
    try:
        changes = parse_patch(patch)
        patterns = tuple(dict.fromkeys((*PROTECTED, *task.protected_paths)))
        changes, _, findings = split(changes, patterns, lambda path: read(path) is not None)
        result = apply_changes(changes, read)
    except PatchError as error:
        if error.fault in ("path_escape", "special_file"):
            findings.append(HackFinding(kind=error.fault, detail=str(error)))
        return Submission(files=base, findings=tuple(findings))
    watch: dict[str, set[int]] = {}
    for change in changes:
        found, lines = _inspect(change, result, read, lambda path: tree_file(tree, path))
        findings += found
        if lines and change.new is not None:
            watch[change.new] = lines
    files = {**base, **{path: data for path, data in result.items() if data is not None}}
    remove = tuple(sorted(path for path, data in result.items() if data is None))
    return Submission(
        files={path: data for path, data in files.items() if path not in remove},
        remove=tuple(path for path in remove if tree_file(tree, path) is not None),
        watch=watch,
        findings=tuple(dict.fromkeys(findings)),
        applied=bool(changes),
        empty=not changes,
    )


def _inspect(
    change: FileChange,
    result: dict[str, bytes | None],
    before: Callable[[str], bytes | None],
    pristine: Callable[[str], bytes | None],
) -> tuple[list[HackFinding], set[int]]:
    data = None if change.new is None else result[change.new]
    if data is None or change.new is None or not change.new.endswith((".py", ".pyi", ".pyx")):
        return [], set()
    after = _text(data)
    references = [
        _text(found) for path in change.paths for found in (before(path), pristine(path)) if found is not None
    ]
    added = added_lines(change)
    if change.old != change.new:
        added = set(range(1, after.count("\n") + 2))
    return scan(change.new, after, added, references), novel_lines(after, added, references)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
