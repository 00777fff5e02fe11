"""The next iteration's mix of tasks, from what the trained model can and cannot do.

A stratum (rewriter x repository) weighs p (1 - p) + floor, where p is its resolved rate with one success and one
failure added: tasks that are sometimes solved teach most (the outcome variance that StarPO-S selects by, RAGEN,
arXiv 2504.20073), and no stratum is ever dropped.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from components.records.evaluation import MixWeight
from components.records.task import Task
from components.records.trajectory import Trajectory


def next_mix(
    tasks: Mapping[str, Task], trajectories: Sequence[Trajectory], *, floor: float
) -> list[MixWeight]:
    """Weights of every stratum that has a training task, summing to 1."""
    tried: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for task in tasks.values():
        if task.split == "train":
            tried[(task.strategy, task.repository_id)]
    for row in trajectories:
        task = tasks[row.task_id]
        stratum = (task.strategy, task.repository_id)
        if stratum in tried and row.grade is not None and not row.grade.infrastructure:
            tried[stratum].append(row.grade.resolved)
    raw = {}
    for stratum, results in tried.items():
        rate = (sum(results) + 1) / (len(results) + 2)
        raw[stratum] = rate * (1 - rate) + floor
    total = sum(raw.values())
    return [
        MixWeight(
            strategy=strategy,
            repository_id=repository,
            attempted=len(tried[(strategy, repository)]),
            resolved=sum(tried[(strategy, repository)]),
            weight=raw[(strategy, repository)] / total,
        )
        for strategy, repository in sorted(raw)
    ]
