"""Which edits are the most probable, against a walk through all of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from components.agents.models.ranking import CHOICE, PER_TEXT, Hypothesis, variants

VOCABULARY = 7


def log_probs(*contexts: tuple[int, ...]) -> torch.Tensor:
    """A made-up model: what comes next depends on all that came before."""
    rows = []
    for context in contexts:
        generator = torch.Generator().manual_seed(hash(context) & 0xFFFF)
        rows.append(torch.log_softmax(2 * torch.randn(VOCABULARY, generator=generator), dim=-1))
    return torch.stack(rows)


def probability(ids: tuple[int, ...], start: int) -> float:
    return sum(float(log_probs(ids[:at])[0][ids[at]]) for at in range(start, len(ids)))


TURNS = st.lists(st.integers(0, VOCABULARY - 1), min_size=2, max_size=9).map(tuple)


@given(turn=TURNS, data=st.data())
def test_variants_are_the_most_probable_first_differences(turn: tuple[int, ...], data: st.DataObject) -> None:
    free = data.draw(st.integers(0, len(turn) - 1))
    start = data.draw(st.integers(0, free))
    scores = log_probs(*(turn[:at] for at in range(start, len(turn))))
    found = variants(turn, free, start, scores)
    choice = probability(turn[:free], start)
    every = {
        (*turn[:at], token): probability((*turn[:at], token), start) - (1 - CHOICE) * choice
        for at in range(free, len(turn))
        for token in range(VOCABULARY)
        if token != turn[at]
    }
    assert len(found) == min(PER_TEXT, len(every))
    assert [item.score for item in found] == pytest.approx(
        sorted(every.values(), reverse=True)[:PER_TEXT], abs=1e-4
    )
    for item in found:
        assert item.score == pytest.approx(every[tuple(item.ids)], abs=1e-4)
        assert item.draft[item.at :] == turn[len(item.ids) :] and len(item.logprobs) == len(item.ids)


@given(begin=TURNS, rest=st.lists(st.integers(0, VOCABULARY - 1), max_size=12), more=st.integers(1, 12))
def test_a_draft_changes_nothing_but_the_number_of_readings(
    begin: tuple[int, ...], rest: list[int], more: int
) -> None:
    item = Hypothesis(list(begin), [0.0] * len(begin), list(rest))
    while len(item.ids) < len(begin) + more:
        whole = (*item.ids, *item.ahead)
        before = len(item.ids)
        item.read(log_probs(*(whole[:at] for at in range(before, max(len(whole), before + 1)))))
        assert len(item.ids) > before
    greedy = list(begin)
    while len(greedy) < len(item.ids):
        greedy.append(int(log_probs(tuple(greedy))[0].argmax()))
    assert item.ids == greedy
    assert item.score == pytest.approx(probability(tuple(greedy), len(begin)), abs=1e-4)


def greedily(count: int) -> list[int]:
    ids = [3]
    while len(ids) < count:
        ids.append(int(log_probs(tuple(ids))[0].argmax()))
    return ids


def readings(draft: list[int], count: int) -> int:
    """How often a turn that begins with 3 is read until it has so many tokens, which must be the greedy ones."""
    item, times = Hypothesis([3], [0.0], draft), 0
    while len(item.ids) < count:
        whole = (*item.ids, *item.ahead)
        item.read(log_probs(*(whole[:at] for at in range(len(item.ids), max(len(whole), len(item.ids) + 1)))))
        times += 1
    assert item.ids[:count] == greedily(count)
    return times


def test_a_right_draft_is_read_at_once() -> None:
    assert readings(greedily(8)[1:], 8) == 1
    assert readings(greedily(15)[1:], 15) == 2


@pytest.mark.parametrize("change", ["replaced", "put in", "left out"])
def test_a_draft_is_found_again_after_a_difference(change: str) -> None:
    whole = greedily(12)
    other = next(token for token in range(VOCABULARY) if token not in whole[3:7])
    draft = {
        "replaced": [*whole[1:4], other, *whole[5:]],
        "put in": [*whole[1:4], *whole[5:]],
        "left out": [*whole[1:4], other, *whole[4:]],
    }[change]
    # One up to the difference, one or two to find the place, and few for the rest.
    assert readings(draft, 12) <= 5 < readings([], 12)
