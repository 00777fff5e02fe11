"""The `distill` flow: let a teacher solve the training tasks."""

from prefect import flow

from components.distill.config import DistillConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="distill", validate_parameters=True, persist_result=False)
def distill(request: StageRequest | None = None, config: DistillConfig | None = None) -> str:
    """Let a teacher solve the training tasks.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("distill", request or StageRequest(), config)
