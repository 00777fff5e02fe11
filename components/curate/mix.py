"""Which examples stay, and in what order. Both follow from the content of each row alone.

A row's rank is a hash of its id, so adding a row moves no other, and a cap keeps the same rows whatever
else was produced.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from components.curate.config import CurateConfig
from components.records.task import Task
from components.records.training import Example

K = TypeVar("K")


def rank(seed: int, row_id: str) -> str:
    """Position of a row in the order, as a hash."""
    return hashlib.sha256(f"{seed}:{row_id}".encode()).hexdigest()


def mix(
    examples: Iterable[Example], tasks: dict[str, Task], config: CurateConfig
) -> tuple[list[Example], dict[str, int]]:
    """The kept examples in training order, and how many each cap took away."""
    rows = sorted(examples, key=lambda row: rank(config.seed, row.id))
    dropped: dict[str, int] = {}

    def capped(reason: str, most: int, key: Callable[[Example], K], rows: Sequence[Example]) -> list[Example]:
        if not most:
            return list(rows)
        seen: Counter[K] = Counter()
        kept = []
        for row in rows:
            seen[key(row)] += 1
            if seen[key(row)] <= most:
                kept.append(row)
        if len(kept) < len(rows):
            dropped[reason] = len(rows) - len(kept)
        return kept

    def function(row: Example) -> tuple[str, str, str]:
        task = tasks[row.task_id]
        return task.repository_id, task.path, task.function

    rows = capped("function_cap", config.max_per_function, function, rows)
    rows = capped("strategy_cap", config.max_per_strategy, lambda row: tasks[row.task_id].strategy, rows)
    rows = capped("total_cap", config.max_examples, lambda row: "", rows)
    return rows, dropped
