"""A training step's loss and gradients beside transformers' own under autocast, on a CPU.

    python -m benchmarks.training_step [--json]

SmolLM2-135M's shapes with random weights; four rows, of which a fifth of the tokens are trained, as in the loop.
Ours differs in two ways, the head at trained positions only and bf16 throughout; the figure is of both together.
Rounds alternate between the two, so that a busy machine slows both; the figure is the ratio of the medians.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from components.agents.models.weights import keep_memory
from components.training.sft import trained_loss
from components.training.tokens import IGNORE

ROWS, TOKENS, TRAINED = 4, 544, 112


def subject() -> LlamaForCausalLM:
    """A model of the size that the loop trains."""
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def seconds(model: LlamaForCausalLM, loss: Callable[[], torch.Tensor]) -> float:
    """Forward and backward."""
    model.zero_grad()
    started = time.perf_counter()
    torch.autograd.backward(loss())
    return time.perf_counter() - started


def compare(rounds: int) -> dict[str, float]:
    """Seconds of both, and how often the one fits into the other."""
    keep_memory()
    torch.manual_seed(0)
    model = subject()
    ids = torch.randint(49152, (ROWS, TOKENS))
    labels = ids.clone()
    labels[:, : TOKENS - TRAINED] = IGNORE
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}

    def theirs() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            loss: torch.Tensor = model(**inputs).loss
        return loss

    def ours() -> torch.Tensor:
        return trained_loss(model, inputs, torch.bfloat16)

    times: dict[str, list[float]] = {"autocast": [], "ours": []}
    for _ in range(rounds):
        times["autocast"].append(seconds(model, theirs))
        times["ours"].append(seconds(model, ours))
    autocast, own = (statistics.median(times[name]) for name in ("autocast", "ours"))
    return {"autocast_s": autocast, "ours_s": own, "ratio": autocast / own}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--target", type=float, default=1.2, help="exit with 1 where the ratio is lower")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    result = compare(options.rounds)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"autocast {result['autocast_s']:.2f} s  ours {result['ours_s']:.2f} s  ratio {result['ratio']:.2f}"
        )
    return 0 if result["ratio"] >= options.target else 1


if __name__ == "__main__":
    raise SystemExit(main())
