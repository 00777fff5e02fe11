"""Caps and order depend on each row's content and on nothing else."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from components.curate.config import CurateConfig
from components.curate.mix import mix
from components.records.training import Example
from tests.chain import repository, task

REPO = repository()
TASKS = {
    row.id: row
    for row in (
        task(n, REPO, function=f"function_{n % 4}", path="boltons/x.py", strategy=f"procedural.kind_{n % 3}")
        for n in range(24)
    )
}
ROWS = [
    Example(id=f"{n:04d}", task_id=row.id, trajectory_id=f"{row.id}#x", repository_id=REPO.id, messages=())
    for n, row in enumerate(TASKS.values())
]


def kept(rows: list[Example], config: CurateConfig) -> list[str]:
    return [row.id for row in mix(rows, TASKS, config)[0]]


@given(st.randoms(use_true_random=False), st.integers(0, 5), st.integers(0, 9), st.integers(0, 20))
@settings(max_examples=50, deadline=None)
def test_the_order_of_the_input_does_not_matter(
    chance: random.Random, function: int, strategy: int, most: int
) -> None:
    config = CurateConfig(max_per_function=function, max_per_strategy=strategy, max_examples=most)
    shuffled = list(ROWS)
    chance.shuffle(shuffled)
    assert kept(shuffled, config) == kept(ROWS, config)


def test_a_new_row_moves_no_other() -> None:
    whole, without = kept(ROWS, CurateConfig()), kept(ROWS[1:], CurateConfig())
    assert [row for row in whole if row != ROWS[0].id] == without


def test_caps_hold_and_what_they_took_is_counted() -> None:
    rows, dropped = mix(ROWS, TASKS, CurateConfig(max_per_function=2))
    assert len(rows) == 8 and dropped == {"function_cap": 16}
    rows, dropped = mix(ROWS, TASKS, CurateConfig(max_per_strategy=3, max_examples=5))
    assert len(rows) == 5 and dropped == {"strategy_cap": 15, "total_cap": 4}


def test_no_cap_keeps_all() -> None:
    rows, dropped = mix(ROWS, TASKS, CurateConfig())
    assert sorted(row.id for row in rows) == [row.id for row in ROWS] and dropped == {}


def test_another_seed_is_another_order() -> None:
    assert kept(ROWS, CurateConfig(seed=1)) != kept(ROWS, CurateConfig())
