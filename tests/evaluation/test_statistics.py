"""Estimates against brute force and known values."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.evaluation.statistics import pass_at_k, wilson


@given(st.integers(1, 7), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_success(samples: int, data: st.DataObject) -> None:
    correct = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, samples))
    outcomes = [index < correct for index in range(samples)]
    subsets = list(combinations(outcomes, k))
    assert pass_at_k(samples, correct, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(("samples", "correct", "k"), [(3, 1, 4), (3, 4, 1), (3, 1, 0)])
def test_undefined_pass_at_k_is_refused(samples: int, correct: int, k: int) -> None:
    with pytest.raises(ValueError, match="not defined"):
        pass_at_k(samples, correct, k)


def test_wilson_known_values() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    # Newcombe 1998, table I: 81 of 263.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)
