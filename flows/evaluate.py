"""The `evaluate` flow: evaluate the trained model on held-out tasks."""

from prefect import flow

from components.evaluation.config import EvaluateConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="evaluate", validate_parameters=True, persist_result=False)
def evaluate(request: StageRequest | None = None, config: EvaluateConfig | None = None) -> str:
    """Evaluate the trained model on held-out tasks.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("evaluate_trained", request or StageRequest(), config)
