"""The loss that is trained with on a CPU is transformers' own, without what is done in vain."""

from collections.abc import Mapping

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from components.training.sft import trained_loss
from components.training.tokens import IGNORE


def model(tied: bool) -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, tie_word_embeddings=tied,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def batch(left: int = 0) -> Mapping[str, torch.Tensor]:
    """Two rows of nine tokens, the second padded by three on the right and `left` on the left."""
    ids = torch.arange(18).reshape(2, 9)
    seen = torch.ones(2, 9, dtype=torch.long)
    seen[1, 6:] = 0
    seen[1, :left] = 0
    labels = ids.masked_fill(seen == 0, IGNORE)
    labels[:, : left + 3] = IGNORE
    return {"input_ids": ids, "attention_mask": seen, "labels": labels}


def gradients(one: LlamaForCausalLM, loss: torch.Tensor) -> torch.Tensor:
    one.zero_grad()
    torch.autograd.backward(loss)
    assert all(weight.grad.dtype == weight.dtype for weight in one.parameters())
    return torch.cat([weight.grad.flatten() for weight in one.parameters()])


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("left", [0, 2])
def test_it_is_the_loss_of_transformers(tied: bool, left: int) -> None:
    one, given = model(tied), batch(left)
    own = one(**given).loss
    ours = trained_loss(one, given, torch.float32)
    torch.testing.assert_close(ours, own)
    torch.testing.assert_close(gradients(one, ours), gradients(one, own))


def test_bf16_points_the_same_way() -> None:
    one, given = model(True), batch()
    exact = gradients(one, trained_loss(one, given, torch.float32))
    near = gradients(one, trained_loss(one, given, torch.bfloat16))
    assert torch.nn.functional.cosine_similarity(exact, near, dim=0) > 0.99
    assert not torch.equal(exact, near)


def test_what_is_accumulated_is_divided_by_the_whole() -> None:
    one, given = model(True), batch()
    count = int((given["labels"][:, 1:] != IGNORE).sum())
    part = trained_loss(one, given, torch.float32, 2 * count)
    torch.testing.assert_close(2 * part, trained_loss(one, given, torch.float32))
