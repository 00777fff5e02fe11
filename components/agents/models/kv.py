"""Keys and values of a prompt's prefix, kept per conversation: a turn only pays for what is new."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from components.records.errors import ConfigError

_SERVE = "Serve it with vLLM and use kind `openai`"


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer with room to grow: appending a token copies that token, not everything before it."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        super().__init__()
        self._keys, self._values, self._length = keys, values, length
        self.device, self.is_initialized = keys.device, True
        self._expose()

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Append; the room is made large enough beforehand (`new_cache`)."""
        end = self._length + key_states.shape[-2]
        self._keys[:, :, self._length : end] = key_states
        self._values[:, :, self._length : end] = value_states
        self._length = end
        self._expose()
        return self.keys, self.values

    def select(self, rows: Sequence[int]) -> None:
        """Keep some rows of the batch only."""
        self._keys, self._values = self._keys[list(rows)], self._values[list(rows)]
        self._expose()

    def _expose(self) -> None:
        self.keys, self.values = self._keys[:, :, : self._length], self._values[:, :, : self._length]


@dataclass(frozen=True)
class Prefix:
    """Token ids and, for each layer, their keys and values: [2, heads, tokens, size]."""

    ids: tuple[int, ...]
    layers: tuple[torch.Tensor, ...]


def common(left: Sequence[object], right: Sequence[object]) -> int:
    """Length of the common prefix."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


class PrefixStore:
    """The last prefixes of many conversations, within a budget of tokens."""

    def __init__(self, max_tokens: int) -> None:
        self._max_tokens = max_tokens
        self._tokens = 0
        self._kept: OrderedDict[str, Prefix] = OrderedDict()

    def find(self, conversation: str, ids: Sequence[int]) -> tuple[Prefix | None, int]:
        """What is kept of a conversation, and how many of its first tokens these ids share with it.

        A new conversation takes from any other what they share: the system prompt.
        """
        kept = self._kept.get(conversation) or next(reversed(self._kept.values()), None)
        return (kept, common(kept.ids, ids)) if kept is not None else (None, 0)

    def put(self, conversation: str, prefix: Prefix) -> None:
        """Remember a prefix instead of the one before; the least recently used conversations go."""
        if not conversation:
            return
        old = self._kept.pop(conversation, None)
        self._tokens += len(prefix.ids) - (len(old.ids) if old else 0)
        self._kept[conversation] = prefix
        while self._tokens > self._max_tokens and len(self._kept) > 1:
            self._tokens -= len(self._kept.popitem(last=False)[1].ids)


def check_plain(config: Any) -> None:
    """Refuse models some of whose layers do not keep all keys and values.

    Raises:
        ConfigError: The model has sliding windows or recurrent state; serve it with vLLM.
    """
    layers = DynamicCache(config=config).layers
    if any(type(layer) is not DynamicLayer for layer in layers):
        kinds = ", ".join(sorted({type(layer).__name__ for layer in layers}))
        raise ConfigError("model", f"{config.model_type} ({kinds})", "full attention in every layer", _SERVE)


def new_cache(
    prefixes: Sequence[tuple[Prefix, int]], room: int, config: Any, dtype: torch.dtype, device: torch.device
) -> Cache:
    """A cache for a batch: each row holds the first tokens of its prefix, right-aligned, then room."""
    width = max((length for _, length in prefixes), default=0)
    heads = config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    layers = []
    for index in range(config.num_hidden_layers):
        # Zeros, not garbage: what the mask hides must not be NaN.
        shape = (2, len(prefixes), heads, width + room, size)
        both = torch.zeros(shape, dtype=dtype, device=device)
        for row, (prefix, length) in enumerate(prefixes):
            if length:
                both[:, row, :, width - length : width] = prefix.layers[index][:, :, :length]
        layers.append(GrowingLayer(both[0], both[1], width))
    return Cache(layers=layers)


def take(
    cache: Cache,
    row: int,
    start: int,
    end: int,
    ids: Sequence[int],
    before: Prefix | None = None,
    shared: int = 0,
) -> Prefix:
    """A copy of one row's keys and values between two positions, after the first of another prefix."""
    layers = []
    for index, layer in enumerate(cache.layers):
        new = torch.stack((layer.keys[row, :, start:end], layer.values[row, :, start:end]))
        layers.append(
            torch.cat((before.layers[index][:, :, :shared], new), dim=2) if before and shared else new
        )
    return Prefix(tuple(ids), tuple(layers))


def select(cache: Cache, rows: Sequence[int]) -> None:
    """Keep some rows of a batch only."""
    for layer in cache.layers:
        layer.select(rows)
