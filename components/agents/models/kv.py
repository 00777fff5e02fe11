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


class SlotLayer(DynamicLayer):  # type: ignore[misc]  # transformers has no types
    """A cache layer with room for each row: a token lies at its position, however far the other rows are.

    Nothing is moved when rows go on at different speeds, or back. `aim` says where the next tokens go.
    """

    def __init__(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        super().__init__()
        self._keys, self._values = keys, values
        self.device, self.is_initialized = keys.device, True
        self.aim(torch.empty((len(keys), 0), dtype=torch.long, device=keys.device), 0)

    def aim(self, columns: torch.Tensor, end: int) -> None:
        """Where the next tokens go, [rows, tokens], and how many columns attention looks at."""
        self._columns, self._end = columns, end
        self._rows = torch.arange(len(columns), device=columns.device)[:, None]
        self._expose()

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Write the tokens where they belong."""
        self._keys[self._rows, :, self._columns] = key_states.transpose(1, 2)
        self._values[self._rows, :, self._columns] = value_states.transpose(1, 2)
        return self.keys, self.values

    def select(self, rows: Sequence[int]) -> None:
        """Keep some rows of the batch only."""
        self._keys, self._values = self._keys[list(rows)], self._values[list(rows)]
        self._expose()

    def _expose(self) -> None:
        self.keys, self.values = self._keys[:, :, : self._end], self._values[:, :, : self._end]


@dataclass(frozen=True)
class Prefix:
    """Token ids and, for each layer, their keys and values: [2, heads, tokens, size]."""

    ids: tuple[int, ...]
    layers: tuple[torch.Tensor, ...]
    base: "Prefix | None" = None
    """Holds the first tokens, where several prefixes share them; the layers hold the others."""

    def copy(self, layer: int, to: torch.Tensor, length: int) -> None:
        """Write the first tokens of one layer to the beginning of [2, heads, tokens, size]."""
        own = self.layers[layer]
        start = len(self.ids) - own.shape[2]
        if self.base is not None and start:
            self.base.copy(layer, to, min(start, length))
        if length > start:
            to[:, :, start:length] = own[:, :, : length - start]


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
    """A cache for a batch: each row holds the first tokens of its prefix, and has room for more.

    Args:
        prefixes: For each row, a prefix and how many of its tokens are wanted.
        room: Columns beyond the longest of them.
        config: Of the model.
        dtype: Of the model.
        device: Of the model.
    """
    width = max((length for _, length in prefixes), default=0) + room
    heads = config.num_key_value_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    layers = []
    for index in range(config.num_hidden_layers):
        # Zeros, not garbage: what the mask hides must not be NaN.
        both = torch.zeros((2, len(prefixes), heads, width, size), dtype=dtype, device=device)
        for row, (prefix, length) in enumerate(prefixes):
            if length:
                prefix.copy(index, both[:, row], length)
        layers.append(SlotLayer(both[0], both[1]))
    return Cache(layers=layers)


def take(cache: Cache, row: int, ids: Sequence[int], base: Prefix | None = None, shared: int = 0) -> Prefix:
    """A copy of one row's keys and values of its first tokens, which are these; so many of them are the base's."""
    layers = [
        torch.stack((layer.keys[row, :, shared : len(ids)], layer.values[row, :, shared : len(ids)]))
        for layer in cache.layers
    ]
    return Prefix(tuple(ids), tuple(layers), base)


def select(cache: Cache, rows: Sequence[int]) -> None:
    """Keep some rows of a batch only."""
    for layer in cache.layers:
        layer.select(rows)
