"""Which candidates are tried next. Depends on candidates and results, never on workers or on time."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import ceil

from components.records.task import Candidate
from components.validation.split import unit

_AT_ONCE = 8
"""Batches that a small wave is cut into, so that it keeps several processes busy."""


def in_turn(candidates: Iterable[Candidate], seed: int, per_round: int) -> list[Candidate]:
    """Hash order, but no function gets more than `per_round` candidates before every other has had as many.

    A long function has many candidates, and a task mix of few functions teaches little.
    """
    by_hash = sorted(candidates, key=lambda c: (unit(seed, "order", c.id), c.id))
    seen: dict[tuple[str, str, str], int] = defaultdict(int)
    rounds: dict[int, list[Candidate]] = defaultdict(list)
    for candidate in by_hash:
        key = (candidate.repository_id, candidate.path, candidate.function)
        rounds[seen[key] // per_round].append(candidate)
        seen[key] += 1
    return [candidate for number in sorted(rounds) for candidate in rounds[number]]


def wave(missing: int, bounds: tuple[int, int]) -> int:
    """How many candidates to try for so many missing tasks: three in five become tasks."""
    least, most = bounds
    return min(max(ceil(missing * 5 / 3), least), most) if missing > 0 else 0


def batches(candidates: Sequence[Candidate], size: int) -> list[tuple[Candidate, ...]]:
    """Groups of one repository each, in order of first appearance; small ones when there is little to do."""
    size = max(1, min(size, ceil(len(candidates) / _AT_ONCE)))
    groups: dict[str, list[list[Candidate]]] = {}
    for candidate in candidates:
        open_groups = groups.setdefault(candidate.repository_id, [[]])
        if len(open_groups[-1]) == size:
            open_groups.append([])
        open_groups[-1].append(candidate)
    return [tuple(group) for found in groups.values() for group in found]
