"""The `iteration` flow: the whole loop. `python -m flows.iteration --help`."""

import logging
import signal
import sys
from types import FrameType
from typing import Annotated

import typer
from prefect import flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.runtime import flow_run
from prefect.settings import PREFECT_UI_URL
from rich.console import Console

from components.iteration import conclude
from components.records.errors import FlywheelError
from components.report.page import write_page
from components.report.summary import summarise
from components.report.terminal import print_summary
from components.tracking.mlflow_log import tracking_uri
from flows.requests import IterationRequest, RunRequest
from flows.runner import begin_request, params_of, step_task


@flow(name="iteration", flow_run_name="iteration", validate_parameters=True, persist_result=False)
def iteration(request: IterationRequest | None = None) -> str:
    """One turn of the flywheel, from repositories to a promoted or refused checkpoint; returns its record."""
    console = Console(stderr=True)
    running = begin_request(request or IterationRequest())
    cached = set()
    for step in running.steps():
        console.rule(step.title, align="left", style="dim")
        dataset = step_task(step.name, step, running)
        if dataset.cached:
            cached.add(step.name)
            console.print(f"{step.name}: cached, {dataset.digest[:12]}", highlight=False)
    prefect_run = str(flow_run.get_id() or "")
    record = conclude(running, prefect_run=prefect_run)
    summary = summarise(running.store, record.digest, frozenset(cached))
    ui = PREFECT_UI_URL.value()
    page = write_page(
        summary,
        running.store.workspace.reports,
        prefect_url=f"{ui}/runs/flow-run/{prefect_run}" if ui else "",
        mlflow_uri=tracking_uri(running.store.workspace, running.params.publish.mlflow_uri),
    )
    create_link_artifact(page.as_uri(), key="report", description="The iteration's report")
    create_markdown_artifact(f"{summary.record.reason}\n", key="promotion")
    print_summary(summary, Console())
    Console().print(f"report: {page}", highlight=False, soft_wrap=True)
    return record.digest


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit as after an error: Prefect's temporary server, for one, is only stopped at a regular exit."""
    sys.exit(128 + number)


def main(
    profile: Annotated[str, typer.Option(help="default, smoke or nightly (params/<name>.yaml)")] = "default",
    number: Annotated[int, typer.Option("--iteration", help="Number; 0: the newest again, or the first")] = 0,
    following: Annotated[bool, typer.Option("--next", help="Begin the iteration after the newest")] = False,
    override: Annotated[list[str] | None, typer.Option("--set", help="dotted.key=value")] = None,
    params: Annotated[str, typer.Option(help="Parameter file")] = "params.yaml",
) -> None:
    """Run one iteration through Prefect (an ephemeral server unless PREFECT_API_URL is set).

    Examples:
        python -m flows.iteration --profile smoke
        python -m flows.iteration --next --set train.epochs=3
    """
    signal.signal(signal.SIGTERM, _leave)
    # Prefect would log an error that is one line for the user as a traceback; its own are kept in its database.
    logging.getLogger("prefect").setLevel(logging.CRITICAL)
    fields = {
        "profile": profile,
        "iteration": number,
        "following": following,
        "overrides": override or [],
        "params_file": params,
    }
    try:
        params_of(
            RunRequest(profile=profile, overrides=override or [], params_file=params)
        )  # before a server starts
        iteration(IterationRequest.model_validate(fields))
    except FlywheelError as error:
        Console(stderr=True).print(f"error: {error}", style="red", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    app()
