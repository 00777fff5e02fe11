"""Estimates and their intervals."""

from collections.abc import Sequence
from math import comb


def pass_at_k(samples: int, correct: int, k: int) -> float:
    """Unbiased estimate of pass@k from `samples` attempts of which `correct` succeeded.

    1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, eq. 1).

    Raises:
        ValueError: k is not within 1..samples, or correct not within 0..samples.
    """
    if not 1 <= k <= samples or not 0 <= correct <= samples:
        raise ValueError(f"pass@{k} of {correct} correct among {samples} samples is not defined")
    return 1.0 - comb(samples - correct, k) / comb(samples, k)


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Wilson 95 % score interval of a proportion; (0, 1) when nothing was tried."""
    if total == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest

    interval = binomtest(successes, total).proportion_ci(confidence_level=0.95, method="wilson")
    return float(interval.low), float(interval.high)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
