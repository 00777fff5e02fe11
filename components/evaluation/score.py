"""From graded trajectories to one score per suite and setting."""

from collections import defaultdict
from collections.abc import Sequence

from components.evaluation.statistics import mean, pass_at_k, wilson
from components.records.evaluation import Score
from components.records.trajectory import Trajectory


def score(model: str, suite: str, setting: str, trajectories: Sequence[Trajectory]) -> Score:
    """Score the attempts of one model at one suite of tasks in one setting.

    A rollout that the machine broke is counted apart and left out of every rate. The Wilson interval is over
    attempts; it takes attempts at one task as independent, so read it for `attempts: 1`.
    """
    valid = [row for row in trajectories if row.grade is not None and not row.grade.infrastructure]
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for row in valid:
        outcomes[row.task_id].append(row.grade is not None and row.grade.resolved)
    resolved = sum(sum(results) for results in outcomes.values())
    low, high = wilson(resolved, len(valid))
    most = min((len(results) for results in outcomes.values()), default=0)
    return Score(
        model=model,
        suite=suite,
        setting=setting,
        tasks=len(outcomes),
        attempts=len(valid),
        resolved=resolved,
        resolved_rate=resolved / len(valid) if valid else 0.0,
        low=low,
        high=high,
        pass_at={
            str(k): mean([pass_at_k(len(r), sum(r), k) for r in outcomes.values()])
            for k in range(1, most + 1)
        },
        mean_steps=mean([sum(step.source == "agent" for step in row.steps) for row in valid]),
        mean_tokens=mean([row.usage.prompt_tokens + row.usage.completion_tokens for row in valid]),
        infrastructure_errors=len(trajectories) - len(valid),
    )
