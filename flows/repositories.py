"""The `repositories` flow: fetch, build and measure the repositories of the catalogue."""

from prefect import flow

from components.repos.config import RepositoriesConfig
from flows.requests import StageRequest
from flows.runner import run_until


@flow(name="repositories", validate_parameters=True, persist_result=False)
def repositories(request: StageRequest | None = None, config: RepositoriesConfig | None = None) -> str:
    """Fetch, build and measure the repositories of the catalogue.

    Stages before it come from the store, or are run. Returns the digest of the dataset.
    """
    return run_until("repositories", request or StageRequest(), config)
