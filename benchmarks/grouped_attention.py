"""Attention by groups of heads beside transformers' own, for a few new tokens over long caches.

    python -m benchmarks.grouped_attention [--json]

The shapes are those of ranking with SmolLM2-135M: nine heads in three groups, bf16. Rounds alternate between the
two, so that a busy machine slows both; the figure is the ratio of the medians.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from components.agents.models.attention import grouped

HEADS, GROUPS, SIZE = 9, 3, 64
SHAPES = ((50, 7, 700), (50, 2, 700), (20, 50, 700))
"""Rows, new tokens, columns of the cache."""


def seconds(attend: Callable[..., Any], *given: Any) -> float:
    """One call."""
    started = time.perf_counter()
    attend(*given)
    return time.perf_counter() - started


def compare(rows: int, tokens: int, columns: int, rounds: int) -> dict[str, float]:
    """Milliseconds of both, and how often the one fits into the other."""
    module = SimpleNamespace(num_key_value_groups=HEADS // GROUPS, is_causal=True)
    query = torch.randn(rows, HEADS, tokens, SIZE, dtype=torch.bfloat16)
    key, value = torch.randn(2, rows, GROUPS, columns, SIZE, dtype=torch.bfloat16)
    mask = torch.ones(rows, 1, tokens, columns, dtype=torch.bool)
    times: dict[str, list[float]] = {"transformers": [], "grouped": []}
    for _ in range(rounds):
        times["transformers"].append(seconds(sdpa_attention_forward, module, query, key, value, mask))
        times["grouped"].append(seconds(grouped, module, query, key, value, mask))
    theirs, ours = (1000 * statistics.median(times[name]) for name in ("transformers", "grouped"))
    return {
        "rows": rows, "tokens": tokens, "columns": columns,
        "transformers_ms": theirs, "grouped_ms": ours, "ratio": theirs / ours,
    }  # fmt: skip


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--target", type=float, default=1.5, help="exit with 1 where the ratio is lower")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    results = [compare(*shape, options.rounds) for shape in SHAPES]
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print("rows tokens columns  transformers  grouped  ratio")
        for row in results:
            print(
                f"{row['rows']:4} {row['tokens']:6} {row['columns']:7} {row['transformers_ms']:10.1f} ms "
                f"{row['grouped_ms']:5.1f} ms  {row['ratio']:4.1f}"
            )
    return 0 if all(row["ratio"] >= options.target for row in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
