"""Supervised fine-tuning of a causal language model with TRL's `SFTTrainer`, resumable to the bit on one CPU.

Runs inside a training job; see `components.training.job`.
"""

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from datasets import Dataset as HFDataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

from components.agents.models.weights import keep_memory
from components.records.errors import InputError
from components.records.training import Example, TrainPoint
from components.training.job import TrainRequest, TrainResult
from components.training.progress import TrainingBar
from components.training.tokens import IGNORE, Encoded, encode

log = logging.getLogger(__name__)


def train(request: TrainRequest) -> TrainResult:
    """Fine-tune; a run that was killed goes on from its last checkpoint.

    Raises:
        InputError: no example has a trained turn within the maximum length.
    """
    started = time.monotonic()
    config = request.config
    keep_memory()
    torch.set_num_threads(config.threads or os.cpu_count() or 1)
    torch.manual_seed(config.seed)
    tokenizer: Any = AutoTokenizer.from_pretrained(request.model)
    examples = Example.from_table(pq.read_table(request.examples))
    encoded = [encode(tokenizer, row.messages, config.max_length) for row in examples]
    rows = [row for row in encoded if row is not None]
    if not rows:
        raise InputError(
            f"none of {len(examples)} examples has a whole trained turn within {config.max_length} tokens; "
            "raise train.max_length or check the `train` flags"
        )
    model = AutoModelForCausalLM.from_pretrained(request.model, dtype=torch.float32)
    watch = _Watch(Path(request.scratch) / "heartbeat", rows, config.epochs)
    trainer = (SFTTrainer if torch.cuda.is_available() else _CpuTrainer)(
        model=model,
        args=_arguments(request),
        train_dataset=HFDataset.from_list(
            [{"input_ids": row.input_ids, "labels": row.labels, "length": len(row.input_ids)} for row in rows]
        ),
        processing_class=tokenizer,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(request.scratch))
    trained = trainer.model
    trained.to(torch.bfloat16).save_pretrained(request.output)
    tokenizer.save_pretrained(request.output)
    curve = _curve(trainer.state.log_history, sum(len(row.input_ids) for row in rows))
    return TrainResult(
        steps=trainer.state.global_step,
        tokens=int(sum(len(row.input_ids) for row in rows) * config.epochs),
        trained_tokens=int(sum(row.trained for row in rows) * config.epochs),
        dropped=len(examples) - len(rows),
        examples=len(rows),
        final_loss=curve[-1].loss if curve else 0.0,
        seconds=time.monotonic() - started,
        curve=tuple(curve),
    )


def _arguments(request: TrainRequest) -> SFTConfig:
    config = request.config
    return SFTConfig(
        output_dir=request.scratch,
        num_train_epochs=config.epochs,
        learning_rate=config.learning_rate,
        lr_scheduler_type=config.schedule,
        warmup_steps=config.warmup_ratio,  # below 1: a share of all steps
        weight_decay=config.weight_decay,
        per_device_train_batch_size=config.batch_rows,
        gradient_accumulation_steps=config.accumulate,
        max_grad_norm=1.0,
        max_length=config.max_length,
        pad_to_multiple_of=config.pad_to,
        bf16=config.bf16,
        use_cpu=not torch.cuda.is_available(),
        gradient_checkpointing=False,
        train_sampling_strategy="group_by_length",
        length_column_name="length",
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=False,
        save_strategy="steps",
        save_steps=config.save_every,
        save_total_limit=1,
        logging_strategy="steps",
        logging_steps=1,  # a point of the curve that covered a kill would differ from one that did not
        seed=config.seed,
        data_seed=config.seed,
        report_to=[],
        disable_tqdm=True,
    )


def trained_loss(
    model: Any,
    inputs: Mapping[str, torch.Tensor],
    dtype: torch.dtype,
    count: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """The loss of a causal language model, with all but the weights in `dtype`, and little done in vain.

    The head is applied to trained positions only, and the weights are cast once; under autocast what lies between
    the matrix products stays in fp32 (benchmarks/training_step.py).

    Args:
        model: A causal language model of transformers.
        inputs: `input_ids`, `attention_mask` and `labels`, [rows, tokens] each.
        dtype: Of activations. Gradients have that of the weights.
        count: Trained tokens to divide by; those here, unless told.

    Returns:
        Mean cross-entropy in nats, a scalar.
    """
    targets = inputs["labels"][:, 1:]
    keep = targets != IGNORE
    # Padding on the right is out of sight of a causal model: without a mask, attention costs a third less.
    mask = None if bool(inputs["attention_mask"][:, 0].all()) else inputs["attention_mask"]
    cast = {weight: weight.to(dtype) for weight in model.parameters()}  # by identity: a tied one once

    def call(module: torch.nn.Module, *args: Any, **others: Any) -> Any:
        weights = {name: cast[weight] for name, weight in module.named_parameters()}
        return torch.func.functional_call(module, weights, args, others)

    ids = inputs["input_ids"]
    hidden = call(model.get_decoder(), input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    logits = call(model.get_output_embeddings(), hidden[:, :-1][keep])
    loss = torch.nn.functional.cross_entropy(logits.float(), targets[keep], reduction="sum")
    return loss / (keep.sum() if count is None else count)


class _CpuTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL 1.16 accumulates the gradient of the head in fp32 chunk by chunk, about a fifth of a step on a CPU."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        if return_outputs:
            return super().compute_loss(model, inputs, True, num_items_in_batch)
        return trained_loss(
            model, inputs, torch.bfloat16 if self.args.bf16 else torch.float32, num_items_in_batch
        )


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Heartbeat for the watchdog and a progress bar with tokens a second and time left."""

    def __init__(self, beat: Path, rows: list[Encoded], epochs: float) -> None:
        self._beat = beat
        self._tokens = sum(len(row.input_ids) for row in rows) * epochs
        self._bar = TrainingBar(self._tokens)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar.start(state.global_step / max(state.max_steps, 1))

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._beat.touch()
        self._bar.update(state.global_step / max(state.max_steps, 1))

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any
    ) -> None:
        if logs and "loss" in logs:
            self._bar.loss = float(logs["loss"])

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._bar.stop()


def _curve(history: list[dict[str, float]], tokens_an_epoch: int) -> list[TrainPoint]:
    return [
        TrainPoint(
            step=int(entry["step"]),
            epoch=float(entry["epoch"]),
            loss=float(entry["loss"]),
            learning_rate=float(entry["learning_rate"]),
            grad_norm=float(entry["grad_norm"]),
            tokens=int(float(entry["epoch"]) * tokens_an_epoch),
        )
        for entry in history
        if "loss" in entry
    ]
