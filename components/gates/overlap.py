"""Overlap of training and held-out tasks.

Two kinds. The split itself is by (repository, file, function) and by repository: a task id, function or
repository on both sides means the split is broken, and the stage stops. A training task whose patch or
problem statement also occurs among the held-out ones (copied code, two bugs with one symptom) is bad luck
with one row: its trajectories are quarantined.
"""

from collections.abc import Iterable

from components.gates.config import OverlapConfig
from components.gates.dedup import NearIndex, text_digest
from components.records.task import Task


def place(task: Task) -> tuple[str, str, str]:
    """(repository name, file, function): what may be on one side only, whatever the version."""
    return task.repository_id.rsplit("@", 1)[0], task.path, task.function


def split_violations(tasks: Iterable[Task], never_train: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Ids of training tasks that break the split, with what they share with the held-out side."""
    tasks = list(tasks)
    heldout = [task for task in tasks if task.split != "train"]
    ids = {task.id for task in heldout}
    places = {place(task) for task in heldout}
    closed = {name.rsplit("@", 1)[0] for name in never_train}
    closed |= {place(task)[0] for task in heldout if task.split == "heldout_repo"}
    out: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        if task.split != "train":
            continue
        repository, path, function = place(task)
        shared = []
        if task.id in ids:
            shared.append("task id")
        if (repository, path, function) in places:
            shared.append(f"function {path}:{function}")
        if repository in closed:
            shared.append(f"repository {repository}")
        if shared:
            out[task.id] = tuple(shared)
    return out


def patch_body(patch: str) -> str:
    """The hunks with their context, without file names, line numbers and section headings."""
    from unidiff import PatchSet

    lines = (str(line).rstrip() for file in PatchSet(patch) for hunk in file for line in hunk)
    return "\n".join(lines)


def contaminated(tasks: Iterable[Task], config: OverlapConfig) -> dict[str, tuple[str, ...]]:
    """Ids of training tasks that resemble a held-out one, with `patch` or `statement` and its id."""
    tasks = sorted(tasks, key=lambda task: task.id)
    train = {task.id: task for task in tasks if task.split == "train"}
    heldout = {task.id: task for task in tasks if task.split != "train"}
    out: dict[str, list[str]] = {}
    if not train or not heldout:
        return {}
    patches = {text_digest(patch_body(task.gold_patch)): task.id for task in reversed(list(heldout.values()))}
    for task in train.values():
        twin = patches.get(text_digest(patch_body(task.gold_patch)))
        if twin:
            out.setdefault(task.id, []).append(f"patch of {twin}")
    index = NearIndex(
        threshold=config.statement_threshold, shingle=config.shingle, permutations=config.permutations
    )
    for row, task in heldout.items():
        index.add(row, index.sketch(task.problem_statement))
    for row, task in train.items():
        alike = index.matches(index.sketch(task.problem_statement))
        if alike:
            out.setdefault(row, []).append(f"statement of {alike[0]}")
    return {row: tuple(reasons) for row, reasons in sorted(out.items())}
