"""Sampling without replacement gives what the model would, minus what was tried."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from components.agents.models.sampling import Chooser, Tried, circles

# A model over three tokens that ends after two: the second token's logits depend on the first.
FIRST = torch.tensor([2.0, 1.0, 0.0])
SECOND = {
    0: torch.tensor([3.0, 0.0, 0.0]),
    1: torch.tensor([0.0, 1.0, 2.0]),
    2: torch.tensor([0.0, 0.0, 0.0]),
}


def logprob(ids: tuple[int, int], temperature: float) -> tuple[float, float]:
    first = torch.log_softmax(FIRST / temperature, -1)[ids[0]]
    second = torch.log_softmax(SECOND[ids[0]] / temperature, -1)[ids[1]]
    return float(first), float(second)


def sample(seed: int, temperature: float, tried: list[tuple[int, int]]) -> tuple[int, int]:
    known = [Tried(ids, logprob(ids, temperature or 1.0)) for ids in tried]
    chooser = Chooser(temperature, seed, known)
    first = chooser.choose(FIRST)
    return first, chooser.choose(SECOND[first])


ALL = list(itertools.product(range(3), range(3)))


def test_greedy_without_history_is_the_most_probable_token() -> None:
    assert sample(1, 0.0, []) == (0, 0)


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_no_sequence_comes_up_twice_and_none_is_left_out(temperature: float) -> None:
    tried: list[tuple[int, int]] = []
    for seed in range(9):
        tried.append(sample(seed, temperature, tried))
    assert sorted(tried) == ALL


def test_frequencies_are_those_of_the_model_without_what_was_tried() -> None:
    tried = [(0, 0), (1, 2)]
    counts = dict.fromkeys(ALL, 0)
    for seed in range(4000):
        counts[sample(seed, 1.0, tried)] += 1
    weights = {ids: 0.0 if ids in tried else math.exp(sum(logprob(ids, 1.0))) for ids in ALL}
    total = sum(weights.values())
    assert counts[0, 0] == counts[1, 2] == 0
    for ids in ALL:
        assert counts[ids] / 4000 == pytest.approx(weights[ids] / total, abs=0.03)


def test_a_seed_gives_the_same_sample_again() -> None:
    assert [sample(seed, 1.0, []) for seed in range(20)] == [sample(seed, 1.0, []) for seed in range(20)]


def test_when_all_has_been_tried_sampling_goes_on() -> None:
    assert sample(0, 1.0, ALL) in ALL


def test_log_probabilities_are_the_models_own() -> None:
    chooser = Chooser(0.5, 3)
    token = chooser.choose(FIRST)
    assert chooser.logprobs == [pytest.approx(float(torch.log_softmax(FIRST, -1)[token]))]


def test_a_refused_token_gives_way_to_the_next_best() -> None:
    assert Chooser(0.0, 1).choose(FIRST, lambda token: token != 0) == 1
    assert {Chooser(1.0, seed).choose(FIRST, lambda token: token == 2) for seed in range(20)} == {2}


def test_a_model_that_will_not_be_guided_says_what_it_wants_to() -> None:
    assert Chooser(0.0, 1).choose(FIRST, lambda token: False) == 0


def test_only_the_tokens_that_lead_on_are_asked_for() -> None:
    assert Chooser(0.0, 1).choose(FIRST, lambda token: True, [2, 1]) == max((1, 2), key=lambda t: FIRST[t])
    hopeless = FIRST - torch.tensor([0.0, 200.0, 300.0, *[0.0] * (len(FIRST) - 3)])
    assert {Chooser(0.8, seed).choose(hopeless, lambda token: True, [1, 2]) for seed in range(9)} == {1}


TOKENS = st.lists(st.integers(0, 5), max_size=20)


@given(begin=TOKENS, again=st.lists(st.integers(0, 5), min_size=1, max_size=16))
def test_a_text_that_comes_again_and_again_has_no_end(begin: list[int], again: list[int]) -> None:
    often = max(4, -(-32 // len(again)))
    assert circles([*begin, *again * often])
    assert circles([*begin, *again * often, *again[: len(again) // 2]])  # wherever it is looked at
    assert not circles([*begin, *again * often, 9])


@given(tokens=st.lists(st.integers(0, 5), max_size=31))
def test_a_short_text_does_not_go_in_circles(tokens: list[int]) -> None:
    assert not circles(tokens)
