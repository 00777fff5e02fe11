"""Which of several attempts at a task are worth keeping."""

from collections.abc import Sequence

from components.records.trajectory import Trajectory


def best(trajectories: Sequence[Trajectory], limit: int) -> list[Trajectory]:
    """At most `limit` of each task and setting, sorted by id.

    Resolved ones come first, then those of fewer turns, then earlier attempts: repeated sampling would
    otherwise fill the training data with easy tasks (SWE-Gym caps at two).
    """
    groups: dict[tuple[str, bool], list[Trajectory]] = {}
    for row in trajectories:
        groups.setdefault((row.task_id, row.tests_visible), []).append(row)
    kept = [row for group in groups.values() for row in sorted(group, key=_rank)[:limit]]
    return sorted(kept, key=lambda row: row.id)


def _rank(row: Trajectory) -> tuple[bool, int, int]:
    turns = sum(step.source == "agent" and not step.rewound for step in row.steps)
    return not (row.grade is not None and row.grade.resolved), turns, row.attempt
