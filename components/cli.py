"""The `flywheel` command. Heavy imports happen inside the commands: `--help` answers at once."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from components.records.errors import FlywheelError

if TYPE_CHECKING:
    from rich.console import Console

    from components.params import Params
    from components.store.store import Store

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A data flywheel for software-engineering agents: from repositories to better checkpoints, and back.",
    epilog="Start with `make loop PROFILE=smoke`, then `flywheel audit checkpoint champion`.",
)
audit_app = typer.Typer(no_args_is_help=True, help="Where did it come from, and what has it touched?")
app.add_typer(audit_app, name="audit")

ParamsFile = Annotated[Path, typer.Option("--params", help="Parameter file")]
Profile = Annotated[str, typer.Option(help="A file of params/, e.g. smoke, nightly")]
Overrides = Annotated[list[str] | None, typer.Option("--set", help="dotted.key=value, e.g. train.epochs=1")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines")]


@app.command()
def run(
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    override: Overrides = None,
    iteration: Annotated[int, typer.Option(help="Number; 0: the newest again, or the first")] = 0,
    following: Annotated[bool, typer.Option("--next", help="Begin the iteration after the newest")] = False,
    as_json: AsJson = False,
) -> None:
    """Run one iteration without Prefect.

    Example: flywheel run --profile smoke --set train.epochs=1
    """
    from components.iteration import last_number, open_store
    from components.iteration import run as run_iteration

    tree, store = _open(params, profile, override)
    console = _stderr()
    number = last_number(open_store(tree)) + 1 if following else iteration
    record = run_iteration(tree, store, number, on_step=lambda step: console.rule(step.title, align="left"))
    _finish(store, record.digest, as_json)


@app.command()
def stage(
    name: Annotated[str, typer.Argument(help="Step, e.g. synthesis, evaluate_trained")],
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    override: Overrides = None,
    iteration: Annotated[int, typer.Option(help="Number; 0: the newest, or the first")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the dataset's digest into this file, for DVC")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run one stage, and before it what it needs; print its dataset's digest.

    Example: flywheel stage validation --profile smoke --json
    """
    from components.graph import STEPS, needed
    from components.iteration import begin
    from components.records.errors import ConfigError

    known = {step.name: step for step in STEPS}
    if name not in known:
        raise ConfigError("stage", name, list(known))
    tree, store = _open(params, profile, override)
    running = begin(tree, store, iteration)
    for step in needed(known[name]):
        dataset = running.run(step)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(
            json.dumps({"dataset": dataset.digest, "rows": dataset.manifest.rows}, indent=1) + "\n"
        )
    if as_json:
        typer.echo(dataset.manifest.model_dump_json(indent=1))
    else:
        typer.echo(dataset.digest)


@app.command()
def report(
    iteration: Annotated[int, typer.Argument(help="Number; 0: the newest")] = 0,
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    as_json: AsJson = False,
) -> None:
    """Show an iteration again and write its page.

    Example: flywheel report 1
    """
    from components.iteration import last_number
    from components.records.errors import ConfigError

    _, store = _open(params, profile, None)
    number = iteration or last_number(store)
    digest = store.pointer(f"iterations/{number:04d}")
    if digest is None:
        raise ConfigError("iteration", number, f"1 to {last_number(store)}", "Run `make loop` first.")
    _finish(store, digest, as_json)


@audit_app.command("checkpoint")
def audit_checkpoint(
    ref: Annotated[str, typer.Argument(help="champion, or a digest of a checkpoint or dataset")] = "champion",
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    as_json: AsJson = False,
) -> None:
    """Print the chain behind a checkpoint and verify every digest on it.

    Example: flywheel audit checkpoint champion --json
    """
    from components.lineage.commands import audit

    _, store = _open(params, profile, None)
    raise typer.Exit(audit(store, ref, _stdout(), as_json=as_json))


@audit_app.command("taint")
def audit_taint(
    repository: Annotated[str, typer.Option(help="e.g. boltons@26.2.0")] = "",
    task: Annotated[str, typer.Option(help="A task's id")] = "",
    trajectory: Annotated[str, typer.Option(help="A trajectory's id")] = "",
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    as_json: AsJson = False,
) -> None:
    """List every dataset, checkpoint and alias that something withdrawn has touched.

    Example: flywheel audit taint --repository boltons@26.2.0
    """
    from components.lineage.commands import audit_taint as run_taint
    from components.records.errors import ConfigError

    given = [(k, v) for k, v in (("repository", repository), ("task", task), ("trajectory", trajectory)) if v]
    if len(given) != 1:
        raise ConfigError("taint", [k for k, _ in given], "exactly one of --repository, --task, --trajectory")
    _, store = _open(params, profile, None)
    kind, ref = given[0]
    raise typer.Exit(run_taint(store, kind, ref, _stdout(), as_json=as_json))  # type: ignore[arg-type]


@app.command()
def datasets(
    params: ParamsFile = Path("params.yaml"), profile: Profile = "default", as_json: AsJson = False
) -> None:
    """List the datasets in the store."""
    _, store = _open(params, profile, None)
    for manifest in sorted(store.all(), key=lambda found: found.started):
        if as_json:
            typer.echo(manifest.model_dump_json())
        else:
            rows = ", ".join(f"{table} {count}" for table, count in manifest.rows.items())
            typer.echo(
                f"{manifest.digest[:12]}  {manifest.stage:<18} {manifest.started:%Y-%m-%d %H:%M}  {rows}"
            )


@app.command()
def ui(
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
    port: Annotated[int, typer.Option(help="Of Prefect")] = 4200,
    mlflow_port: Annotated[int, typer.Option(help="Of MLflow")] = 5000,
) -> None:
    """Serve Prefect and MLflow for this workspace until Ctrl-C.

    Example: flywheel ui --port 4201
    """
    from components.tracking.mlflow_log import tracking_uri
    from components.ui import HOST, serve

    tree, store = _open(params, profile, None)
    _stderr().print(f"Prefect http://{HOST}:{port}  MLflow http://{HOST}:{mlflow_port}", highlight=False)
    uri = tracking_uri(store.workspace, tree.publish.mlflow_uri)
    serve(store.workspace, port=port, mlflow_port=mlflow_port, mlflow_uri=uri)


@app.command()
def restore(
    digest: Annotated[str, typer.Argument(help="Of a published dataset, or its beginning")],
    params: ParamsFile = Path("params.yaml"),
    profile: Profile = "default",
) -> None:
    """Bring a dataset back into the store from the DVC remote, every byte verified.

    Example: flywheel restore 3f2a9c
    """
    from components.iteration import ledger_of

    tree, store = _open(params, profile, None)
    typer.echo(ledger_of(tree, store).restore(digest, store).digest)


def main() -> None:
    """Entry point: errors that are meant for the user are one line."""
    try:
        app()
    except FlywheelError as error:
        typer.secho(f"error: {error}", fg="red", err=True)
        sys.exit(error.exit_code)


def _open(params: Path, profile: str, overrides: list[str] | None) -> "tuple[Params, Store]":
    from components.iteration import open_store
    from components.params import load_params

    tree = load_params(params, profile, overrides or [])
    return tree, open_store(tree)


def _finish(store: "Store", digest: str, as_json: bool) -> None:
    from components.report.page import write_page
    from components.report.summary import summarise
    from components.report.terminal import print_summary

    summary = summarise(store, digest)
    page = write_page(summary, store.workspace.reports)
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "iteration": summary.record.model_dump(mode="json"),
                    "base": [row.model_dump(mode="json") for row in summary.base],
                    "trained": [row.model_dump(mode="json") for row in summary.trained],
                    "comparisons": [row.model_dump(mode="json") for row in summary.comparisons],
                    "report": str(page),
                },
                indent=1,
            )
        )
        return
    print_summary(summary, _stdout())
    typer.echo(f"report: {page}")


def _stdout() -> "Console":
    from rich.console import Console

    return Console()


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


if __name__ == "__main__":
    main()
