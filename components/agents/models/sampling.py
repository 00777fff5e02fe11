"""Pick the next token of each row: greedily, or at random from a seed of the row's own.

Sampling without replacement (UniqueRandomizer, Shi, Bieber, Singh 2020): a token's probability is lowered by
that of the sequences already sampled that go on with it, so that no sequence comes up twice.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

_PATIENCE = 256
"""Tokens refused in a row before guidance is given up."""
_ROUNDS, _ROUND_TOKENS = 4, 32
"""How often a text must come in a row, and how many tokens that must be, for it to have no end."""


def circles(ids: Sequence[int]) -> bool:
    """Whether tokens end in the same few again and again, as a small model's do that has lost its way."""
    for length in range(1, _ROUND_TOKENS // 2 + 1):
        span = length * max(_ROUNDS, -(-_ROUND_TOKENS // length))
        if span > len(ids):
            continue
        if ids[-span:-length] == ids[length - span :]:
            return True
    return False


@dataclass(frozen=True)
class Tried:
    """A sequence sampled before, with the log-probability of each token at the row's temperature."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]

    def mass_after(self, position: int) -> float:
        """Probability of the rest of the sequence, given its first tokens."""
        return math.exp(sum(self.logprobs[position:]))


@dataclass
class Chooser:
    """Chooses the tokens of one row."""

    temperature: float
    seed: int
    tried: Sequence[Tried] = ()
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._generator = torch.Generator().manual_seed(self.seed)

    def choose(
        self,
        logits: torch.Tensor,
        allowed: Callable[[int], bool] | None = None,
        among: Sequence[int] | None = None,
    ) -> int:
        """The next token, given its float32 logits.

        Args:
            logits: One for each token of the vocabulary.
            allowed: Whether a token may follow; if none is to be found that may, any one will do.
            among: The only tokens worth asking for, where they are known.
        """
        plain = torch.log_softmax(logits, dim=-1)
        weights = torch.softmax(logits / (self.temperature or 1.0), dim=-1)
        alive = [item for item in self.tried if item.ids[: len(self.ids)] == tuple(self.ids)]
        if alive:
            weights = self._without(weights, alive)
        if among:
            weights = self._only(weights, logits, among)
        drawn = token = self._pick(weights)
        for _ in range(_PATIENCE):
            if allowed is None or allowed(token):
                break
            weights[token] = 0.0
            token = self._pick(weights)
        else:
            token = drawn  # it will not be guided: let it say what it wants to
        self.ids.append(token)
        self.logprobs.append(float(plain[token]))
        return token

    def force(self, tokens: Sequence[int]) -> None:
        """Go on with tokens that there is no choice about: their probability is 1."""
        self.ids += tokens
        self.logprobs += [0.0] * len(tokens)

    def _only(self, weights: torch.Tensor, logits: torch.Tensor, among: Sequence[int]) -> torch.Tensor:
        index = torch.tensor(among)
        kept = weights[index]
        if float(kept.sum()) < 1e-9:  # all are unlikely: how they compare is lost in the softmax over all
            kept = torch.softmax(logits[index] / (self.temperature or 1.0), dim=-1)
        return torch.zeros_like(weights).index_put_((index,), kept)

    def _pick(self, weights: torch.Tensor) -> int:
        if self.temperature <= 0:
            return int(torch.argmax(weights))
        point = torch.rand((), generator=self._generator) * weights.sum()
        total = torch.cumsum(weights, dim=-1)
        return min(int(torch.searchsorted(total, point.to(total.dtype), right=True)), len(weights) - 1)

    def _without(self, weights: torch.Tensor, alive: Sequence[Tried]) -> torch.Tensor:
        position = len(self.ids)
        left = weights.clone()
        for item in alive:
            if position >= len(item.ids):
                continue
            token = item.ids[position]
            # The last token of a tried sequence is out for certain, whatever rounding says.
            final = position == len(item.ids) - 1
            left[token] = 0.0 if final else left[token] - item.mass_after(position)
        left.clamp_(min=0.0)
        # Less than rounding errors is nothing: all that could follow has been tried.
        return left if float(left.sum()) > 1e-6 else weights
