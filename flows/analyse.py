"""The `analyse` flow: compare, classify failures, weigh the next mix."""

from prefect import flow

from components.analysis.config import AnalyseConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="analyse", validate_parameters=True, persist_result=False)
def analyse(request: StageRequest | None = None, config: AnalyseConfig | None = None) -> str:
    """Compare, classify failures, weigh the next mix.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("analyse", request or StageRequest(), config)
