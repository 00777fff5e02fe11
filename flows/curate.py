"""The `curate` flow: turn accepted trajectories into examples."""

from prefect import flow

from components.curate.config import CurateConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="curate", validate_parameters=True, persist_result=False)
def curate(request: StageRequest | None = None, config: CurateConfig | None = None) -> str:
    """Turn accepted trajectories into examples.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("curate", request or StageRequest(), config)
