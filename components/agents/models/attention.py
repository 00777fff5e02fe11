"""Attention of few new tokens over long caches, for models whose query heads share keys and values.

transformers repeats keys and values for each query head where a mask is given: for three heads and seven tokens
after seven hundred that takes nearly six times as long on a CPU as to let the heads of a group stand behind each
other, as further tokens of one head (benchmarks/grouped_attention.py).
"""

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "grouped"


def grouped(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """As `sdpa`, in another order.

    Args:
        module: The layer.
        query: [rows, heads, tokens, size].
        key: [rows, groups, columns, size].
        value: [rows, groups, columns, size].
        attention_mask: [rows, 1, tokens, columns]; without one `sdpa` is asked, which knows what that means.
        others: See `sdpa`.

    Returns:
        [rows, tokens, heads, size], and no weights.
    """
    if attention_mask is None:
        answer: tuple[torch.Tensor, None] = sdpa_attention_forward(module, query, key, value, None, **others)
        return answer
    rows, heads, tokens, size = query.shape
    groups = key.shape[1]
    found = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(rows, groups, heads // groups * tokens, size),
        key,
        value,
        attn_mask=attention_mask.repeat(1, 1, heads // groups, 1),
        scale=others.get("scaling"),
    )
    return found.reshape(rows, heads, tokens, size).transpose(1, 2).contiguous(), None


def use_grouped(model: Any) -> None:
    """Let a model that uses `sdpa` attend so."""
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(_NAME, grouped)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)
