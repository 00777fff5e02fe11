"""Caps and weights: keyed by content, so that what is added moves nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.records.evaluation import MixWeight
from components.synthesis.selection import Ticket, apportion, plan, select


def tickets(path: str, functions: int, strategies: dict[str, int]) -> list[Ticket]:
    return [
        Ticket(f"{path}.{n}.{strategy}.{k}", strategy, path, f"f{n}")
        for n in range(functions)
        for strategy, count in strategies.items()
        for k in range(count)
    ]


MANY = tickets("a.py", 20, {"p.x": 5, "p.y": 2, "p.z": 1})


def choose(
    rows: list[Ticket],
    budget: int = 1000,
    limit: int = 100,
    seed: int = 0,
    weights: dict[str, float] | None = None,
) -> set[str]:
    return select(rows, seed=seed, budget=budget, max_per_function=limit, weights=weights or {})


def test_everything_fits() -> None:
    assert choose(MANY) == {ticket.id for ticket in MANY}


def test_the_budget_holds_and_strategies_share_it() -> None:
    chosen = choose(MANY, budget=30)
    assert len(chosen) == 30
    assert [sum(f".{name}." in one for one in chosen) for name in ("p.x", "p.y", "p.z")] == [10, 10, 10]


def test_weights() -> None:
    chosen = choose(MANY, budget=20, weights={"p.x": 3, "p.y": 1, "p.z": 0})
    assert [sum(f".{name}." in one for one in chosen) for name in ("p.x", "p.y", "p.z")] == [15, 5, 0]


def test_cap_per_function_takes_every_strategy_before_a_second_of_one() -> None:
    chosen = choose(MANY, limit=3)
    for n in range(20):
        assert sorted(one.split(".")[4] for one in chosen if one.startswith(f"a.py.{n}.")) == ["x", "y", "z"]


def test_a_strategy_of_half_the_weight_has_its_turn_half_as_often() -> None:
    weights = {"p.y": 0.5, "p.z": 0.4}
    for limit, expected in [(1, "x"), (3, "xxy"), (5, "xxxyz")]:  # y after the second x, z after that
        chosen = choose(MANY, limit=limit, weights=weights)
        for n in range(20):
            assert (
                "".join(sorted(one.split(".")[4] for one in chosen if one.startswith(f"a.py.{n}.")))
                == expected
            )


def test_the_seed_decides_and_the_order_does_not() -> None:
    assert choose(MANY, budget=30) == choose(MANY[::-1], budget=30)
    assert choose(MANY, budget=30) != choose(MANY, budget=30, seed=1)


def test_a_new_file_only_adds_its_own() -> None:
    new = tickets("b.py", 5, {"p.x": 3})
    before, after = choose(MANY, limit=3), choose(MANY + new, limit=3)
    assert after - {ticket.id for ticket in new} == before
    tight_before, tight_after = choose(MANY, budget=30), choose(MANY + new, budget=30)
    gone = tight_before - tight_after
    assert len(tight_after - tight_before) == len(gone) <= 5
    assert all(one.startswith("b.py") for one in tight_after - tight_before)
    assert all(".p.x." in one for one in gone)


@given(
    budget=st.integers(0, 200),
    strata=st.dictionaries(
        st.sampled_from("abcdef"), st.tuples(st.integers(0, 50), st.floats(0, 10, allow_subnormal=False))
    ),
)
def test_apportion(budget: int, strata: dict[str, tuple[int, float]]) -> None:
    available = {name: count for name, (count, _) in strata.items()}
    weights = {name: weight for name, (_, weight) in strata.items()}
    share = apportion(budget, available, weights)
    assert all(0 <= share[name] <= available[name] for name in available)
    usable = sum(count for name, count in available.items() if weights[name] > 0)
    assert sum(share.values()) == min(budget, usable)


def weight(strategy: str, repository: str, value: float) -> MixWeight:
    return MixWeight(strategy=strategy, repository_id=repository, attempted=9, resolved=3, weight=value)


def test_plan_without_a_mix() -> None:
    plans = plan(["r@1"], ["p.x", "p.y"], max_candidates=7, weights={"p.x": 2.0})
    assert plans == {"r@1": (7, {"p.x": 2.0, "p.y": 1.0})}


def test_plan_follows_the_previous_iteration() -> None:
    mix = [
        weight("p.x", "r@1", 0.5),
        weight("p.y", "r@1", 0.25),
        weight("p.x", "s@1", 0.25),
        weight("p.x", "gone@1", 9),
    ]
    plans = plan(
        ["r@1", "s@1", "new@1"], ["p.x", "p.y", "p.new"], max_candidates=100, weights={"p.x": 2.0}, mix=mix
    )
    assert {name: row.budget for name, row in plans.items()} == {"r@1": 150, "s@1": 50, "new@1": 100}
    assert plans["r@1"].weights == pytest.approx({"p.x": 1.0, "p.y": 0.25, "p.new": 0.375})
    assert plans["s@1"].weights == pytest.approx({"p.x": 0.5, "p.y": 0.25, "p.new": 0.25})
    assert plans["new@1"].weights == {"p.x": 2.0, "p.y": 1.0, "p.new": 1.0}


def test_a_repository_whose_weights_are_all_zero_is_not_lost() -> None:
    plans = plan(["r@1"], ["p.x"], max_candidates=5, weights={}, mix=[weight("p.x", "r@1", 0.0)])
    assert plans["r@1"] == (5, {"p.x": 1.0})
