"""Which proposals become candidates: caps and weights, with every random choice keyed by content.

Nothing here draws from a generator: a proposal's place in the queue is `sha256(seed, id)`, so that a
new file only adds its own proposals to the queues and moves none of the others.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from components.records.evaluation import MixWeight


class Ticket(NamedTuple):
    """What the choice needs to know of a proposal."""

    id: str
    strategy: str
    path: str
    function: str


def select(
    tickets: Iterable[Ticket],
    *,
    seed: int,
    budget: int,
    max_per_function: int,
    weights: Mapping[str, float],
) -> set[str]:
    """At most `budget` ids, shared out over the strategies by weight (1 where none is given)."""
    queues: dict[str, list[tuple[bytes, str]]] = defaultdict(list)
    for ticket in _capped(tickets, seed, max_per_function, weights):
        queues[ticket.strategy].append((order(seed, ticket.id), ticket.id))
    available = {strategy: len(queue) for strategy, queue in queues.items()}
    share = apportion(budget, available, {strategy: weights.get(strategy, 1.0) for strategy in queues})
    return {name for strategy, queue in queues.items() for _, name in sorted(queue)[: share[strategy]]}


def order(seed: int, name: str) -> bytes:
    """The place of an item in a random order that depends on nothing but the item and the seed."""
    return hashlib.sha256(f"{seed}\0{name}".encode()).digest()


def _capped(
    tickets: Iterable[Ticket], seed: int, limit: int, weights: Mapping[str, float]
) -> Iterable[Ticket]:
    """At most `limit` per function: one of each strategy first, then a second of each, and so on.

    A strategy of half the weight has its turn half as often: a first one of it comes along with the second of
    another.
    """
    groups: dict[tuple[str, str], dict[str, list[tuple[bytes, Ticket]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for ticket in tickets:
        if weights.get(ticket.strategy, 1.0) > 0:
            groups[ticket.path, ticket.function][ticket.strategy].append((order(seed, ticket.id), ticket))
    for strategies in groups.values():
        rounds = [
            ((turn + 1) / weights.get(strategy, 1.0), place, ticket)
            for strategy, queue in strategies.items()
            for turn, (place, ticket) in enumerate(sorted(queue))
        ]
        yield from (ticket for _, _, ticket in sorted(rounds)[:limit])


def apportion(budget: int, available: Mapping[str, int], weights: Mapping[str, float]) -> dict[str, int]:
    """Share a budget by weight; what a stratum cannot use goes to the others, by weight again."""
    share = dict.fromkeys(available, 0)
    open_strata = sorted(name for name, count in available.items() if count and weights[name] > 0)
    left = min(budget, sum(available[name] for name in open_strata))
    while open_strata and left:
        total = sum(weights[name] for name in open_strata)
        exact = {name: left * weights[name] / total for name in open_strata}
        full = [name for name in open_strata if exact[name] >= available[name]]
        if full:  # these take all they have, and the rest is shared anew
            for name in full:
                share[name] = available[name]
                left -= available[name]
            open_strata = [name for name in open_strata if name not in full]
            continue
        for name in open_strata:
            share[name] = int(exact[name])
        spare = left - sum(share[name] for name in open_strata)
        by_remainder = sorted(open_strata, key=lambda name: (share[name] - exact[name], name))
        for name in by_remainder[:spare]:
            share[name] += 1
        break
    return share


class Plan(NamedTuple):
    """One repository's budget, and the weight of each strategy in it."""

    budget: int
    weights: dict[str, float]


def plan(
    repository_ids: Sequence[str],
    strategies: Sequence[str],
    *,
    max_candidates: int,
    weights: Mapping[str, float],
    mix: Sequence[MixWeight] = (),
) -> dict[str, Plan]:
    """Budgets and weights per repository: the configured ones, times those of the previous iteration.

    Repositories that the mix knows share their budgets out as it says; a strategy that it does not know
    gets the mean weight of the repository, so that something new is tried at all.
    """
    known: dict[str, dict[str, float]] = defaultdict(dict)
    for row in mix:
        if row.repository_id in repository_ids and row.strategy in strategies:
            known[row.repository_id][row.strategy] = row.weight
    totals = {name: sum(rows.values()) for name, rows in known.items()}
    total = sum(totals.values())
    plans = {}
    for name in repository_ids:
        if not total or not totals.get(name):
            # Not in the mix, or nothing left to learn there: the latter would otherwise get nothing.
            plans[name] = Plan(max_candidates, {one: weights.get(one, 1.0) for one in strategies})
            continue
        mean = totals[name] / len(known[name])
        budget = round(max_candidates * len(totals) * totals[name] / total)
        merged = {one: weights.get(one, 1.0) * known[name].get(one, mean) for one in strategies}
        plans[name] = Plan(max(1, budget), merged)
    return plans
