"""The `synthesis` flow: propose bugs."""

from prefect import flow

from components.synthesis.config import SynthesisConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="synthesis", validate_parameters=True, persist_result=False)
def synthesis(request: StageRequest | None = None, config: SynthesisConfig | None = None) -> str:
    """Propose bugs.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("synthesis", request or StageRequest(), config)
