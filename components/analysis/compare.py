"""The paired difference of two models on the same tasks."""

from collections import defaultdict
from collections.abc import Sequence

from components.records.evaluation import Comparison
from components.records.trajectory import Trajectory


def outcomes(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Task id -> share of its attempts that resolved it; attempts that the machine broke are left out."""
    results: dict[str, list[bool]] = defaultdict(list)
    for row in trajectories:
        if row.grade is not None and not row.grade.infrastructure:
            results[row.task_id].append(row.grade.resolved)
    return {task: sum(values) / len(values) for task, values in results.items()}


def compare(
    base: Sequence[Trajectory],
    trained: Sequence[Trajectory],
    *,
    suite: str,
    setting: str,
    resamples: int,
    seed: int,
) -> Comparison:
    """Trained minus base over the tasks that both have an outcome for, with a 95 % percentile bootstrap interval.

    Tasks are resampled, not rollouts, since attempts at one task are not independent.
    """
    before, after = outcomes(base), outcomes(trained)
    tasks = sorted(before.keys() & after.keys())
    differences = [after[task] - before[task] for task in tasks]
    low, high = _interval(differences, resamples, seed)
    return Comparison(
        base=base[0].model if base else "",
        trained=trained[0].model if trained else "",
        suite=suite,
        setting=setting,
        tasks=len(tasks),
        difference=sum(differences) / len(differences) if differences else 0.0,
        low=low,
        high=high,
    )


def _interval(values: Sequence[float], resamples: int, seed: int) -> tuple[float, float]:
    if not values:
        return -1.0, 1.0
    if len(set(values)) == 1:
        return values[0], values[0]
    import numpy as np
    from scipy.stats import bootstrap

    result = bootstrap(
        (np.asarray(values),),
        np.mean,
        n_resamples=resamples,
        method="percentile",
        rng=np.random.default_rng(seed),
        vectorized=True,
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
