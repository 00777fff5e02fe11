"""How flows reach the loop: one Prefect task per step, with a row of counts as its artifact."""

from pathlib import Path

from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel

from components.graph import Step, find_step, needed
from components.iteration import Running, begin, last_number, open_store
from components.params import Params, load_params
from components.records.errors import InfrastructureError
from components.store.dataset import Dataset
from flows.requests import IterationRequest, RunRequest


def params_of(request: RunRequest) -> Params:
    """The parameter tree of a request."""
    return load_params(Path(request.params_file), request.profile, request.overrides)


def begin_request(request: IterationRequest) -> Running:
    """The iteration that a request asks for."""
    params = params_of(request)
    store = open_store(params)
    number = last_number(store) + 1 if request.following else request.iteration
    return begin(params, store, number)


def _transient(task: object, run: object, state: object) -> bool:
    """Only the machine's failures are worth another try."""
    result = state.result(raise_on_failure=False)  # type: ignore[attr-defined]
    return isinstance(result, InfrastructureError)


@task(
    task_run_name="{name}",
    retries=2,
    retry_delay_seconds=[1, 10],
    retry_condition_fn=_transient,
    # The store is the cache: it knows what Prefect cannot, whether the bytes are still what they were.
    cache_policy=NO_CACHE,
    persist_result=False,
)
def step_task(name: str, step: Step, running: Running) -> Dataset:
    """One step of an iteration."""
    dataset = running.run(step)
    create_table_artifact(
        [{"table": table, "rows": rows} for table, rows in dataset.manifest.rows.items()]
        + [{"table": f"rejected: {why}", "rows": n} for why, n in dataset.manifest.rejected.items()],
        key=name.replace("_", "-"),
        description=f"{step.title}: dataset {dataset.digest}{' (cached)' if dataset.cached else ''}",
    )
    return dataset


def run_until(name: str, request: IterationRequest, config: BaseModel | None) -> str:
    """Run a step, and before it whatever it needs; returns the digest of its dataset.

    Args:
        name: The step.
        request: Of which iteration, with which parameters.
        config: Takes the place of the step's section of the parameters.
    """
    running = begin_request(request)
    target = find_step(name)
    if config is not None:
        running.params = running.params.model_copy(update={target.config: config})
    for step in needed(target):
        step_task(step.name, step, running)
    return running.datasets[name].digest
