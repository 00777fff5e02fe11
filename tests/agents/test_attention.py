"""Attention by groups of heads is attention."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from components.agents.models.attention import grouped, use_grouped


def layer(per_group: int) -> Any:
    return SimpleNamespace(num_key_value_groups=per_group, is_causal=True)


@settings(deadline=None)
@given(
    rows=st.integers(1, 3), groups=st.integers(1, 3), per_group=st.integers(1, 4),
    tokens=st.integers(1, 6), before=st.integers(0, 9), seed=st.integers(0, 99),
)  # fmt: skip
def test_it_is_what_transformers_computes(
    rows: int, groups: int, per_group: int, tokens: int, before: int, seed: int
) -> None:
    torch.manual_seed(seed)
    columns = tokens + before
    query = torch.randn(rows, groups * per_group, tokens, 8)
    key, value = torch.randn(2, rows, groups, columns, 8)
    mask = torch.rand(rows, 1, tokens, columns) < 0.7
    mask[..., 0] = True
    module = layer(per_group)
    found, _ = grouped(module, query, key, value, mask, scaling=0.3)
    expected, _ = sdpa_attention_forward(module, query, key, value, mask, scaling=0.3)
    assert found.shape == (rows, tokens, groups * per_group, 8)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("padded", [False, True])
def test_a_model_says_the_same_with_it(padded: bool) -> None:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.randint(0, 50, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0 if padded else 1
    before = model(ids, attention_mask=mask).logits[mask.bool()]
    use_grouped(model)
    assert model.config._attn_implementation == "grouped"
    torch.testing.assert_close(model(ids, attention_mask=mask).logits[mask.bool()], before)


def test_a_model_that_attends_otherwise_is_left_alone() -> None:
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1),
    )
    model.set_attn_implementation("eager")
    use_grouped(model)
    assert model.config._attn_implementation == "eager"
