"""Reading tokens after what has been read before, in batches: what sampling and ranking ask of a model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache

from components.agents.models import kv

_LIKE = 8
"""Tokens by which pieces may differ that are of like length."""


@dataclass(frozen=True)
class Piece:
    """Tokens to be read after the first tokens of a prefix."""

    prefix: kv.Prefix
    shared: int
    """How many those are."""
    ids: Sequence[int]
    index: int
    """Which of all that are asked for."""

    @classmethod
    def of(cls, prefix: kv.Prefix, whole: Sequence[int], count: int, index: int) -> "Piece":
        """What is left to read of a text to know what follows each of its last tokens, so many."""
        shared = min(kv.common(prefix.ids, whole), len(whole) - count)
        return cls(prefix, shared, whole[shared:], index)


class Reader:
    """Runs a causal language model over pieces of many conversations together."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._device: torch.device = model.device

    def run(self, batch: Sequence[Piece]) -> tuple[torch.Tensor, Cache]:
        """Read pieces together: hidden states [rows, tokens, size], and the cache."""
        cache = self.new_cache([(piece.prefix, piece.shared) for piece in batch], _longest(batch))
        return self.forward([piece.ids for piece in batch], [piece.shared for piece in batch], cache), cache

    def new_cache(self, prefixes: Sequence[tuple[kv.Prefix, int]], room: int) -> Cache:
        """A cache whose rows hold the first tokens of their prefixes, with room for more."""
        return kv.new_cache(prefixes, room, self._model.config, self._model.dtype, self._device)

    def forward(self, unread: Sequence[Sequence[int]], starts: Sequence[int], cache: Cache) -> torch.Tensor:
        """Read tokens of each row from its start on; hidden states [rows, tokens, size], padded on the right."""
        count = max(len(ids) for ids in unread)
        ids = torch.tensor([[*row, *[0] * (count - len(row))] for row in unread], device=self._device)
        columns = torch.tensor(starts, device=self._device)[:, None] + torch.arange(
            count, device=self._device
        )
        end = int(columns.max()) + 1
        for layer in cache.layers:
            layer.aim(columns, end)
        # What padding writes lies behind what a row has read, where nothing looks before it is overwritten.
        mask = torch.arange(end, device=self._device) <= columns[:, None, :, None]
        answer = self._model.get_decoder()(
            input_ids=ids, attention_mask=mask, position_ids=columns, cache=cache, use_cache=True
        )
        hidden: torch.Tensor = answer.last_hidden_state
        return hidden

    def after(
        self, hidden: torch.Tensor, read: Sequence[Sequence[int]], counts: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """For each row the logits after each of the last tokens read, so many: [count, vocabulary]."""
        parts = [
            hidden[row, len(ids) - count : len(ids)]
            for row, (ids, count) in enumerate(zip(read, counts, strict=True))
        ]
        return torch.split(self.head(torch.cat(parts)), list(counts))

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Float32 logits of hidden states."""
        logits: torch.Tensor = self._model.get_output_embeddings()(hidden).float()
        return logits


def batches(pieces: Sequence[Piece], tokens: int) -> Iterator[list[Piece]]:
    """Pieces of like length together, so that little is padding, and of those the ones with like contexts.

    Args:
        pieces: In any order.
        tokens: Of one batch, padding included: bounds memory.
    """
    batch: list[Piece] = []
    for piece in sorted(pieces, key=lambda item: (len(item.ids) // _LIKE, item.shared)):
        longest = _longest([*batch, piece])
        wasteful = batch and longest > 1.25 * min(len(item.ids) for item in batch) + 8
        if batch and (wasteful or longest * (len(batch) + 1) > tokens):
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


def _longest(batch: Sequence[Piece]) -> int:
    return max(len(piece.ids) for piece in batch)
