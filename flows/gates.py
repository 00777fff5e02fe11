"""The `gates` flow: judge trajectories and quarantine."""

from prefect import flow

from components.gates.config import GatesConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="gates", validate_parameters=True, persist_result=False)
def gates(request: StageRequest | None = None, config: GatesConfig | None = None) -> str:
    """Judge trajectories and quarantine.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("gates", request or StageRequest(), config)
