"""The most probable edits, found along the text that each would replace.

A fix differs little from what it replaces. So the turn that would replace a text by itself is read once for each
text on view, and every token that the model finds likely in place of one of its own begins another edit; the
most probable of these are completed greedily. Where a beam search keeps a few beginnings of one turn, this keeps
a few places in all of them, and reads the rest of the old text as a draft of the new (as in speculative decoding:
no token is taken that is not the most probable one).

The score is the log-probability of the turn, but what is said of the choice of the text counts for less (`CHOICE`): a
small model knows better how to mend a line than which one.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import torch

from components.agents.models import kv
from components.agents.models.reading import Piece, Reader, batches

CHOICE = 0.3
"""Weight of the choice of the text to replace. Of 55 held-out bugs on view, one of the first six edits (two a line)
mended 29; with a weight of 1 it was 26, and 24 with any number of edits a line."""
KEPT = 16
"""Edits of a context that are begun at a time."""
WANTED = 8
"""Of them to be completed: some more than a view is given. Those that cannot be among them are given up."""
PER_TEXT = 3
"""Of them for one text, so that others have their turn."""
SCORED_TOKENS = 1024
"""Of one batch in which every token is scored, padding included: bounds memory."""
_WIDTH = 6
"""Tokens looked at in one place."""
_COMPLETED_TOKENS = 384
"""Of one batch of edits that are being completed: about fifty of them, each of which has a cache of its own."""
_READINGS = 16
"""Of an edit that is being completed."""
_LONGER = 16
"""Tokens by which an edit may be longer than one that changes nothing."""
_WINDOW = 7
"""Most tokens of a draft that are read at a time: what follows one that is wrong is read in vain."""
_AHEAD, _BEHIND = 4, 2
"""Tokens of a draft among which the one sampled is looked for when it is not the next."""


@dataclass
class Hypothesis:
    """A turn that is being completed."""

    ids: list[int]
    logprobs: list[float]
    draft: Sequence[int] = ()
    """What probably follows, from `at` on."""
    at: int = 0
    window: int = _WINDOW
    """How many tokens of it to read next: few where the last ones were wrong."""
    choice: int = 0
    """Tokens that say which text is replaced."""

    @property
    def score(self) -> float:
        """Log-probability of what is there, that of the choice weighted."""
        return CHOICE * sum(self.logprobs[: self.choice]) + sum(self.logprobs[self.choice :])

    @property
    def ahead(self) -> Sequence[int]:
        """The part of the draft to be read next."""
        return self.draft[self.at : self.at + self.window]

    def read(self, scores: torch.Tensor) -> None:
        """Go on greedily: through what is ahead if it is right, or else by one token more than is right.

        Args:
            scores: Log-probabilities of what follows it and each token ahead, [those ahead or 1, vocabulary].
        """
        ahead, begin = self.ahead, self.at
        values, tokens = (column.tolist() for column in scores.max(dim=-1))
        for value, token in zip(values, tokens, strict=True):
            self.ids.append(token)
            self.logprobs.append(value)
            if ahead and token != self.draft[self.at]:
                self.window = min(_WINDOW, 2 * (self.at - begin + 1))
                self.at = self._after(token) + 1
                return
            self.at += 1
        self.window = _WINDOW

    def _after(self, token: int) -> int:
        """Where the draft has a token that is not the next one: some are left out, or put in, or else replaced."""
        near = [*range(self.at + 1, self.at + _AHEAD), *range(self.at - 1, self.at - 1 - _BEHIND, -1)]
        known = (place for place in near if 0 <= place < len(self.draft) and self.draft[place] == token)
        return next(known, self.at)


@dataclass(frozen=True)
class Draft:
    """A turn that would replace a text by itself."""

    ids: Sequence[int]
    free: int
    """The first token that may be another."""


@dataclass
class Context:
    """A conversation whose next turn is an edit."""

    ids: Sequence[int]
    """All its tokens up to the turn."""
    prefix: kv.Prefix
    """Keys and values of as many as have been read."""
    drafts: Sequence[Draft]
    tried: Collection[Sequence[int]]
    """Edits that were made before."""
    ended: Callable[[Sequence[int]], bool]
    """Whether a turn has come to its end."""
    fits: Callable[[Sequence[int]], bool]
    """Whether a turn that has is of use."""
    stops: Collection[int]
    """Tokens that no turn goes on from."""
    found: list[Hypothesis] = field(default_factory=list)
    """What fits, the most probable first once all are ranked."""
    read: int = 0
    """Tokens that were read."""

    @property
    def shared(self) -> Sequence[int]:
        """The tokens that all drafts begin with and that may be no others: not scored, and read but once."""
        first, *others = (draft.ids[: draft.free] for draft in self.drafts)
        return first[: min([len(first), *(kv.common(first, ids) for ids in others)])]

    def piece(self, prefix: kv.Prefix, turn: Sequence[int], count: int, index: int) -> Piece:
        """What is to be read of a turn to know what follows each of its last tokens, so many."""
        piece = Piece.of(prefix, [*self.ids, *turn], count, index)
        self.read += len(piece.ids)
        return piece

    def hopeless(self, item: Hypothesis) -> bool:
        """Whether enough have been found that are more probable: it can only become less so."""
        return sum(other.score > item.score for other in self.found) >= WANTED


@dataclass(frozen=True)
class _Branch:
    """An edit on its way, and what has been read of the draft that it differs from."""

    context: Context
    item: Hypothesis
    prefix: kv.Prefix
    most: int
    """Tokens at which it is given up."""

    def goes_on(self) -> bool:
        """Whether there is more to read; what has ended and fits is found."""
        ids = self.item.ids
        if not self.context.ended(ids):
            return len(ids) < self.most and ids[-1] not in self.context.stops
        if self.context.fits(ids):
            self.context.found.append(self.item)
        return False


def rank(reader: Reader, contexts: Sequence[Context]) -> None:
    """Find the most probable edits of each context, in order."""
    asked = [context for context in contexts if context.drafts]
    _share(reader, asked)
    branches = [branch for branch in _begin(reader, asked) if branch.goes_on()]
    pieces = [
        one.context.piece(
            one.prefix, [*one.item.ids, *one.item.ahead[:-1]], max(1, len(one.item.ahead)), index
        )
        for index, one in enumerate(branches)
    ]
    for batch in batches(pieces, _COMPLETED_TOKENS):
        _complete(reader, batch, [branches[piece.index] for piece in batch])
    for context in contexts:
        context.found.sort(key=lambda item: item.score, reverse=True)


def _share(reader: Reader, contexts: Sequence[Context]) -> None:
    """Read what all edits of a context begin with."""
    pieces = [
        context.piece(context.prefix, context.shared, 1, index) for index, context in enumerate(contexts)
    ]
    for batch in batches(pieces, SCORED_TOKENS):
        _, cache = reader.run(batch)
        for place, piece in enumerate(batch):
            context = contexts[piece.index]
            whole = [*context.ids, *context.shared]
            context.prefix = kv.take(cache, place, whole, context.prefix, piece.shared)


def _begin(reader: Reader, contexts: Sequence[Context]) -> list[_Branch]:
    """The most probable beginnings of edits of each context, out of all texts that it may replace."""
    asked = [
        (context, start, draft)
        for context in contexts
        for start in [len(context.shared)]
        for draft in context.drafts
    ]
    pieces = [
        context.piece(context.prefix, draft.ids[:-1], len(draft.ids) - start, index)
        for index, (context, start, draft) in enumerate(asked)
    ]
    begun: dict[int, list[_Branch]] = {id(context): [] for context in contexts}
    for batch in batches(pieces, SCORED_TOKENS):
        hidden, cache = reader.run(batch)
        counts = [len(asked[piece.index][2].ids) - asked[piece.index][1] for piece in batch]
        logits = reader.after(hidden, [piece.ids for piece in batch], counts)
        for place, piece in enumerate(batch):
            context, start, draft = asked[piece.index]
            whole = [*context.ids, *draft.ids[:-1]]
            prefix = kv.take(cache, place, whole, context.prefix, piece.shared)
            most = len(draft.ids) + _LONGER
            fresh = [
                _Branch(context, item, prefix, most)
                for item in variants(draft.ids, draft.free, start, torch.log_softmax(logits[place], dim=-1))
                if not _made(item, context.tried)
            ]
            kept = [*begun[id(context)], *fresh]
            begun[id(context)] = sorted(kept, key=lambda one: one.item.score, reverse=True)[:KEPT]
    return [branch for context in contexts for branch in begun[id(context)]]


def _complete(reader: Reader, batch: Sequence[Piece], branches: Sequence[_Branch]) -> None:
    """Go on with edits greedily, all together, each along its draft."""
    unread, starts = [piece.ids for piece in batch], [piece.shared for piece in batch]
    room = max(one.most - len(one.item.ids) for one in branches) + 2 * _WINDOW
    cache = reader.new_cache([(piece.prefix, piece.shared) for piece in batch], room)
    for _ in range(_READINGS):
        hidden = reader.forward(unread, starts, cache)
        counts = [max(1, len(one.item.ahead)) for one in branches]
        for one, logits in zip(branches, reader.after(hidden, unread, counts), strict=True):
            one.item.read(torch.log_softmax(logits, dim=-1))
        alive = [index for index, one in enumerate(branches) if one.goes_on()]
        alive = [index for index in alive if not branches[index].context.hopeless(branches[index].item)]
        if not alive:
            return
        if len(alive) < len(branches):
            kv.select(cache, alive)
        branches = [branches[index] for index in alive]
        unread = [[one.item.ids[-1], *one.item.ahead[:-1]] for one in branches]
        starts = [len(one.context.ids) + len(one.item.ids) - 1 for one in branches]


def _made(item: Hypothesis, tried: Collection[Sequence[int]]) -> bool:
    """Whether an edit that begins so has been made: no two that were ranked begin alike."""
    return any(list(ids[: len(item.ids)]) == item.ids for ids in tried)


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
                ids,
                position + 1,
                choice=free,
            )
        )
    return found
