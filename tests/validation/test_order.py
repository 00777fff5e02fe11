from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from components.records.task import Candidate
from components.validation.order import batches, in_turn, wave


def candidate(number: int, function: str, repository: str) -> Candidate:
    return Candidate(
        id=f"{repository}/x/{number}", repository_id=repository, strategy="x", path="m.py", function=function,
        line=1, start=0, end=0, replacement="", bug_patch="",
    )  # fmt: skip


CANDIDATES = st.lists(st.tuples(st.sampled_from("fghi"), st.sampled_from(["a@1", "b@1"])), max_size=40).map(
    lambda items: [candidate(n, function, name) for n, (function, name) in enumerate(items)]
)


@given(CANDIDATES, st.integers(1, 3), st.randoms(use_true_random=False))
def test_order_is_that_of_the_ids_alone(found: list[Candidate], per_round: int, random: object) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert in_turn(shuffled, 0, per_round) == in_turn(found, 0, per_round)
    assert sorted(c.id for c in in_turn(found, 0, per_round)) == sorted(c.id for c in found)


@given(CANDIDATES, st.integers(1, 3))
def test_no_function_runs_ahead(found: list[Candidate], per_round: int) -> None:
    total = Counter((c.repository_id, c.function) for c in found)
    seen: Counter[tuple[str, str]] = Counter()
    for item in in_turn(found, 1, per_round):
        key = (item.repository_id, item.function)
        turn = seen[key] // per_round
        assert all(seen[other] >= min(total[other], turn * per_round) for other in total)
        seen[key] += 1


def test_waves_follow_what_is_missing_within_bounds() -> None:
    assert [wave(n, (4, 20)) for n in (-3, 0, 1, 7, 100)] == [0, 0, 4, 12, 20]


@given(CANDIDATES, st.integers(1, 5))
def test_batches_hold_one_repository_each(found: list[Candidate], size: int) -> None:
    groups = batches(found, size)
    assert all(len({c.repository_id for c in group}) == 1 and 0 < len(group) <= size for group in groups)
    assert Counter(c.id for group in groups for c in group) == Counter(c.id for c in found)
