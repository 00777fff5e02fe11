"""The most probable edits, found along the text that each would replace.

A fix differs little from what it replaces. So the turn that would replace a text by itself is read once for each
text on view, and every token that the model finds likely in place of one of its own begins another edit; the
most probable of these are completed greedily. Where a beam search (whose score this is: the log-probability of
the turn) keeps a few beginnings of one turn, this keeps a few places in all of them, and reads the rest of the
old text as a draft of the new (as in speculative decoding: no token is taken that is not the most probable one).
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch

T = TypeVar("T")

KEPT = 8
"""Edits of a context that are begun at a time."""
WANTED = 5
"""Of them to be completed: about as many as a view is given. Those that cannot be among them are given up."""
PER_TEXT = 4
"""Of them for one text, so that others have their turn."""
_WIDTH = 6
"""Tokens looked at in one place."""
_AHEAD = 4
"""Tokens of a draft among which the one sampled is looked for when it is not the next."""


@dataclass
class Hypothesis:
    """A turn that is being completed."""

    ids: list[int]
    logprobs: list[float]
    rest: list[int] = field(default_factory=list)
    """Tokens that probably follow, up to its end."""

    @property
    def score(self) -> float:
        """Log-probability of what is there."""
        return sum(self.logprobs)

    def read(self, scores: torch.Tensor) -> None:
        """Go on greedily: through the draft if it is right, or else by one token more than is right.

        Args:
            scores: Log-probabilities of what follows it and each token of its draft, [draft or 1, vocabulary].
        """
        draft, self.rest = self.rest, []
        values, tokens = (column.tolist() for column in scores.max(dim=-1))
        for position, (value, token) in enumerate(zip(values, tokens, strict=True)):
            self.ids.append(token)
            self.logprobs.append(value)
            if draft and token != draft[position]:
                window = draft[position : position + _AHEAD]
                skipped = window.index(token) if token in window else 0
                self.rest = draft[position + skipped + 1 :]
                return


def variants(ids: Sequence[int], free: int, start: int, scores: torch.Tensor) -> list[Hypothesis]:
    """Beginnings of turns that differ from a given one: the most probable `PER_TEXT`, best first.

    Args:
        ids: Tokens of the given turn.
        free: The first that may be another.
        start: The first that was scored; those before are certain.
        scores: Log-probabilities, [tokens from `start` on, vocabulary].
    """
    own = scores[torch.arange(len(scores)), torch.tensor(ids[start:])]
    before = torch.cumsum(own, dim=0) - own
    others = scores[free - start :].clone()
    others[torch.arange(len(others)), torch.tensor(ids[free:])] = -torch.inf
    values, tokens = others.topk(min(_WIDTH, others.shape[1] - 1), dim=-1)
    total = (values + before[free - start :, None]).flatten()
    best, places = total.topk(min(PER_TEXT, len(total)))
    known = [0.0] * start + own.tolist()
    found = []
    for place in places[best.isfinite()].tolist():
        position, column = free + place // tokens.shape[1], place % tokens.shape[1]
        found.append(
            Hypothesis(
                [*ids[:position], int(tokens[position - free, column])],
                [*known[:position], float(values[position - free, column])],
                list(ids[position + 1 :]),
            )
        )
    return found


def hopeless(item: Hypothesis, done: Sequence[Hypothesis]) -> bool:
    """Whether enough have been completed that are more probable: it can only become less so."""
    return sum(other.score > item.score for other in done) >= WANTED


def best(items: Sequence[T], key: Callable[[T], float]) -> list[T]:
    """The most probable ones, in order."""
    return heapq.nlargest(KEPT, items, key=key)
