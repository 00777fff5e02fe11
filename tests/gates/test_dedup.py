"""Duplicates: the result depends on the set of rows and on nothing else."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from components.gates.dedup import clusters, jaccard, representatives, shingles, text_digest
from tests.chain import words

SETTINGS: dict[str, Any] = {"threshold": 0.8, "shingle": 2, "permutations": 64}

_word = st.sampled_from(["a", "b", "c", "d", "e", "f"])
_text = st.lists(_word, min_size=0, max_size=12).map(" ".join)
_texts = st.dictionaries(st.integers(0, 50).map(str), _text, max_size=12)


def test_white_space_does_not_matter_for_exact_copies() -> None:
    assert text_digest("a  b\n c") == text_digest("a b c")
    assert text_digest("a b c") != text_digest("a b d")


def test_shingles_of_short_text_are_the_text() -> None:
    assert shingles("x", 5) == {"x"}
    assert shingles("", 5) == {""}
    assert shingles("a b c", 2) == {"a b", "b c"}


def test_jaccard_of_empty_sets_is_one() -> None:
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset("ab"), frozenset("bc")) == 1 / 3


@given(_texts, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter(texts: dict[str, str], chance: random.Random) -> None:
    shuffled = list(texts.items())
    chance.shuffle(shuffled)
    assert clusters(texts, **SETTINGS) == clusters(dict(shuffled), **SETTINGS)


@given(_texts)
@settings(max_examples=60, deadline=None)
def test_removing_duplicates_twice_removes_nothing_more(texts: dict[str, str]) -> None:
    stands = representatives(texts, rank=len, **SETTINGS)
    kept = {row: texts[row] for row in set(stands.values())}
    again = representatives(kept, rank=len, **SETTINGS)
    assert again == {row: row for row in kept}


@given(_texts)
@settings(max_examples=60, deadline=None)
def test_clusters_are_a_partition_and_copies_stay_together(texts: dict[str, str]) -> None:
    groups = clusters(texts, **SETTINGS)
    assert sorted(row for group in groups for row in group) == sorted(texts)
    of = {row: number for number, group in enumerate(groups) for row in group}
    for left, text in texts.items():
        for right, other in texts.items():
            if " ".join(text.split()) == " ".join(other.split()):
                assert of[left] == of[right]


def test_near_duplicates_are_found_and_different_texts_are_not() -> None:
    base = words(1, 200)
    texts = {"base": base, "near": base + " tail", "other": words(2, 200)}
    assert clusters(texts, threshold=0.95, shingle=5, permutations=128) == [("base", "near"), ("other",)]


def test_the_representative_has_the_lowest_rank_then_the_lowest_id() -> None:
    texts = {"c": "same", "a": "same", "b": "same"}
    rank = {"a": 2, "b": 1, "c": 1}
    assert set(representatives(texts, rank=rank.__getitem__, **SETTINGS).values()) == {"b"}


def test_a_thousand_copies_are_one_cluster() -> None:
    texts = {f"{number:04d}": "the same text over and over" for number in range(1000)}
    assert len(clusters(texts, **SETTINGS)) == 1
