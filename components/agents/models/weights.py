"""Load a causal language model and its tokenizer from a folder or by its Hugging Face name."""

import ctypes
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from components.records.errors import ConfigError

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
"""Of mallopt(3)."""


def keep_memory() -> None:
    """Have glibc keep what large tensors leave: mapping it anew for each costs a quarter of generation's time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, -1)  # never


def load(name: str, dtype: str, device: str) -> tuple[Any, Any]:
    """A model, ready to generate, and its tokenizer with its chat template.

    Raises:
        ConfigError: There is no such model.
    """
    if not name:
        raise ConfigError("model", name, "a checkpoint folder or a Hugging Face name")
    if name.startswith((".", "/")) and not Path(name).is_dir():
        raise ConfigError("model", name, "an existing folder or a Hugging Face name")
    if device == "cpu":
        keep_memory()
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=getattr(torch, dtype))
    except (OSError, ValueError) as error:
        line = str(error).strip().splitlines()[0]
        raise ConfigError("model", name, "a causal language model", f"transformers says: {line}") from error
    if not tokenizer.chat_template:
        raise ConfigError("model", name, "a model with a chat template")
    return model.to(device).eval(), tokenizer
