"""Exact and near duplicates: one representative of each stays.

Candidate pairs come from MinHash buckets, and every pair is then decided by the exact Jaccard similarity
of the two shingle sets, so the permutations only ever cost recall, never precision. Neither step depends
on the order of the rows, and rows that are not linked stay not linked when others are gone: removing
duplicates twice removes nothing more.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(r"\w+|[^\w\s]")


def text_digest(text: str) -> str:
    """sha256 of the text with its white space normalised."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()


def shingles(text: str, size: int) -> frozenset[str]:
    """Runs of `size` words (punctuation counts); the whole text when it is shorter."""
    words = _WORD.findall(text)
    return frozenset(" ".join(words[i : i + size]) for i in range(max(1, len(words) - size + 1)))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Size of the intersection over size of the union; 1 for two empty sets."""
    union = len(left | right)
    return len(left & right) / union if union else 1.0


@dataclass(frozen=True)
class Sketch:
    """A text as the index sees it."""

    parts: frozenset[str]
    hashes: Any
    """MinHash of the parts."""


class NearIndex:
    """Texts that can be asked for the ones at least `threshold` like another."""

    def __init__(self, *, threshold: float, shingle: int, permutations: int) -> None:
        from datasketch import MinHashLSH

        self._threshold, self._shingle, self._permutations = threshold, shingle, permutations
        # Bands are tuned for a lower threshold than asked for: a false candidate costs one set
        # intersection, a missed one stays in the training data.
        self._buckets = MinHashLSH(
            threshold=max(0.1, threshold - 0.1), num_perm=permutations, weights=(0.1, 0.9)
        )
        self._sets: dict[str, frozenset[str]] = {}

    def sketch(self, text: str) -> Sketch:
        """What `add` and `matches` look at; the costly part, so made once a text."""
        from datasketch import MinHash

        parts = shingles(text, self._shingle)
        hashes = MinHash(num_perm=self._permutations, seed=1)
        hashes.update_batch([part.encode() for part in sorted(parts)])
        return Sketch(parts, hashes)

    def add(self, row: str, sketch: Sketch) -> None:
        """Add one text."""
        self._sets[row] = sketch.parts
        self._buckets.insert(row, sketch.hashes)

    def matches(self, sketch: Sketch) -> list[str]:
        """Ids of the texts that are alike, sorted."""
        found = self._buckets.query(sketch.hashes)
        return sorted(row for row in found if jaccard(sketch.parts, self._sets[row]) >= self._threshold)


def clusters(
    texts: Mapping[str, str], *, threshold: float, shingle: int, permutations: int
) -> list[tuple[str, ...]]:
    """Partition of the ids into groups of duplicates, each sorted, in order of their first id."""
    by_digest: dict[str, list[str]] = {}
    for row, text in sorted(texts.items()):
        by_digest.setdefault(text_digest(text), []).append(row)
    # One row stands for its exact copies, so that a thousand copies are not a million pairs.
    first = {rows[0]: rows for rows in by_digest.values()}
    parent = {row: row for row in first}

    def root(row: str) -> str:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    index = NearIndex(threshold=threshold, shingle=shingle, permutations=permutations)
    for row in first:
        sketch = index.sketch(texts[row])
        for other in index.matches(sketch):
            low, high = sorted((root(row), root(other)))
            parent[high] = low
        index.add(row, sketch)
    groups: dict[str, list[str]] = {}
    for row, copies in first.items():
        groups.setdefault(root(row), []).extend(copies)
    return sorted(tuple(sorted(rows)) for rows in groups.values())


def representatives(
    texts: Mapping[str, str],
    *,
    rank: Callable[[str], Any],
    threshold: float,
    shingle: int,
    permutations: int,
) -> dict[str, str]:
    """Each id with the id that stands for it: the one of lowest `rank` in its cluster, then lowest id."""
    out: dict[str, str] = {}
    for rows in clusters(texts, threshold=threshold, shingle=shingle, permutations=permutations):
        best = min(rows, key=lambda row: (rank(row), row))
        out.update(dict.fromkeys(rows, best))
    return out
