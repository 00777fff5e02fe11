"""The `train` flow: fine-tune the base model."""

from prefect import flow

from components.training.config import TrainConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="train", validate_parameters=True, persist_result=False)
def train(request: StageRequest | None = None, config: TrainConfig | None = None) -> str:
    """Fine-tune the base model.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("train", request or StageRequest(), config)
