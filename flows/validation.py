"""The `validation` flow: keep the bugs that are tasks."""

from prefect import flow

from components.validation.config import ValidationConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="validation", validate_parameters=True, persist_result=False)
def validation(request: StageRequest | None = None, config: ValidationConfig | None = None) -> str:
    """Keep the bugs that are tasks.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("validation", request or StageRequest(), config)
