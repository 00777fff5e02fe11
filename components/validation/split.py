"""Train or held out: decided by function and by repository, before any test runs, never by row.

The key is the outermost function, by repository name and not by version: what a model learnt from
version 1 of a function must not be held out in version 2.
"""

import hashlib
from collections.abc import Iterable

from components.records.task import Split, Task


def unit(*parts: str | int) -> float:
    """A number in [0, 1) that depends on the parts and nothing else."""
    digest = hashlib.sha256("\x00".join(str(part) for part in parts).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def split_of(
    repository: str, path: str, function: str, *, never_train: bool, seed: int, heldout_fraction: float
) -> Split:
    """The side on which a function lies, with all of its tasks."""
    if never_train:
        return "heldout_repo"
    return "heldout" if unit(seed, "split", repository, path, function) < heldout_fraction else "train"


def check_split(tasks: Iterable[Task], never_train: frozenset[str] = frozenset()) -> None:
    """Raise unless every function, and every repository never trained on, lies on one side.

    A breach is a defect of ours, so it is not a `FlywheelError`.
    """
    sides: dict[tuple[str, str, str], Split] = {}
    for task in tasks:
        repository = task.repository_id.partition("@")[0]
        if (task.split == "heldout_repo") != (task.repository_id in never_train):
            raise AssertionError(f"{task.id}: split {task.split!r} contradicts never_train")
        key = (repository, task.path, task.function)
        if sides.setdefault(key, task.split) != task.split:
            raise AssertionError(f"{key}: tasks on both sides of the split, e.g. {task.id}")
