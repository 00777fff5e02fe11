"""The `train` stage: examples and a base model in, a checkpoint out."""

from collections.abc import Mapping

import pyarrow.parquet as pq

from components.records.training import Checkpoint, TrainPoint
from components.store.dataset import Dataset
from components.store.output import Output
from components.training.checkpoint import describe
from components.training.config import TrainConfig
from components.training.job import TrainRequest, run_job


class TrainStage:
    """Inputs `base` (a checkpoint dataset) and `examples`; tables `checkpoint`, `curve`; files `model/`."""

    name = "train"
    version = 2

    def run(self, config: TrainConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Run the training job and describe what it made."""
        base = inputs["base"].rows("checkpoint", Checkpoint)[0]
        scratch = out.scratch("sft")
        examples = scratch / "examples.parquet"
        pq.write_table(inputs["examples"].table("examples"), examples)
        folder = out.folder("model")
        result = run_job(
            TrainRequest(
                config=config,
                model=str(inputs["base"].file("files/model")),
                examples=str(examples),
                scratch=str(scratch),
                output=str(folder),
            )
        )
        row = describe(
            folder,
            base_model=base.digest,
            recipe="sft",
            datasets=(inputs["examples"].digest,),
            examples=result.examples,
            steps=result.steps,
            tokens=result.tokens,
            final_loss=result.final_loss,
            config=config.model_dump(mode="json"),
        )
        out.write("checkpoint", [row], Checkpoint)
        out.write("curve", result.curve, TrainPoint)
        out.reject("longer than max_length", result.dropped)
        out.cost(train_seconds=result.seconds, tokens=result.tokens, trained_tokens=result.trained_tokens)
