"""One iteration of the loop: what comes before its steps, and what comes after them.

The runner (a Prefect flow, or `run` below) goes through `components.graph.STEPS` between `begin` and `conclude`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from components.graph import COMPARE_INCUMBENT, EVALUATE_INCUMBENT, STEPS, Step, run_step
from components.params import Params
from components.records.errors import ConfigError
from components.records.evaluation import Comparison, Score
from components.records.iteration import Iteration, IterationEvidence
from components.records.training import Checkpoint, TrainPoint
from components.store.dataset import Dataset
from components.store.digests import sha256_json
from components.store.dvc import Ledger
from components.store.output import Output
from components.store.stage import execute
from components.store.store import Store
from components.store.workspace import Workspace
from components.tracking.mlflow_log import Tracker

CHAMPION = "champions/current"
OUTSIDE = ("previous_analysis", "incumbent")
"""Inputs that other iterations have made."""


@dataclass
class Running:
    """An iteration on its way."""

    number: int
    params: Params
    store: Store
    datasets: dict[str, Dataset] = field(default_factory=dict)
    previous: str = ""
    champion: str = ""
    """Train dataset of the champion before this iteration; empty when there is none."""

    def steps(self) -> tuple[Step, ...]:
        """Its steps in order; a later iteration also measures the champion that it challenges."""
        return (*STEPS, EVALUATE_INCUMBENT, COMPARE_INCUMBENT) if self.champion else STEPS

    def run(self, step: Step) -> Dataset:
        """Run one step and remember its dataset."""
        self.datasets[step.name] = run_step(step, self.params, self.store, self.datasets)
        return self.datasets[step.name]


class _RecordConfig(BaseModel):
    """What the iteration's record says."""

    model_config = ConfigDict(frozen=True)

    record: Iteration
    evidence: IterationEvidence = Field(json_schema_extra={"affects_output": False})


class _RecordStage:
    name = "iteration"
    version = 1

    def run(self, config: _RecordConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        out.write("iteration", [config.record], Iteration)
        out.write("evidence", [config.evidence], IterationEvidence)


def open_store(params: Params) -> Store:
    """The store that the parameters name."""
    workspace = Workspace(Path(params.workspace))
    return Store(params.store or workspace, workspace=workspace)


def ledger_of(params: Params, store: Store) -> Ledger:
    """The data repository of the store's workspace, with the remote that the parameters name."""
    remote = params.publish.remote or str(store.workspace.root / "remote")
    return Ledger(store.workspace, remote, endpoint_url=params.publish.endpoint_url or None)


def last_number(store: Store) -> int:
    """Number of the newest finished iteration; 0 when there is none."""
    return max((int(name) for name in store.pointers("iterations")), default=0)


def begin(params: Params, store: Store, number: int = 0) -> Running:
    """Start or repeat an iteration.

    Args:
        params: The parameters.
        store: The store.
        number: Which iteration; 0 repeats the newest, or begins the first.

    Raises:
        ConfigError: the iteration before it is not finished.
    """
    number = number or last_number(store) or 1
    running = Running(number, params, store)
    if number == 1:
        return running
    before = store.pointer(f"iterations/{number - 1:04d}")
    if before is None:
        allowed = range(1, last_number(store) + 2)
        raise ConfigError("iteration", number, f"{allowed.start} to {allowed.stop - 1}")
    record = read_record(store, before)
    running.previous, running.champion = before, record.champion_after
    running.datasets["previous_analysis"] = store.get(record.datasets["analyse"])
    if record.champion_after:
        running.datasets["incumbent"] = store.get(record.champion_after)
    return running


def read_record(store: Store, digest: str) -> Iteration:
    """The record of an iteration."""
    return store.get(digest).rows("iteration", Iteration)[0]


def judge(comparison: Comparison | None, champion: str) -> tuple[bool, str]:
    """The promotion rule: the first model, or one whose paired interval lies above zero."""
    if not champion:
        return True, "the first model"
    if comparison is None:
        return False, "no held-out task that both were tried on"
    text = (
        f"{comparison.difference:+.1%} [{comparison.low:+.1%}, {comparison.high:+.1%}] against the champion"
    )
    return comparison.low > 0, text


def conclude(running: Running, *, prefect_run: str = "") -> Dataset:
    """Publish data, log the model, promote or not, and write the iteration's record.

    The order makes a crash harmless: data are on the remote before anything names them, the model is registered
    before the alias moves, and the pointers of this iteration come last.
    """
    params, store, datasets = running.params, running.store, running.datasets
    made = {name: dataset for name, dataset in datasets.items() if name not in OUTSIDE}
    commit = ledger_of(params, store).publish(made, iteration=running.number)
    publish = params.publish
    tracker = Tracker(store.workspace, publish.mlflow_uri, publish.experiment, publish.registered_model)
    train = datasets["train"]
    tracked = tracker.log_checkpoint(
        train.rows("checkpoint", Checkpoint)[0],
        train.file("files/model"),
        train.rows("curve", TrainPoint),
        {name: datasets[name] for name in ("curate", "gates", "distill", "validation", "base_model")},
        dataset_digest=train.digest,
        tags={"flywheel.iteration": str(running.number), "flywheel.prefect_run": prefect_run},
    )
    comparisons = datasets["analyse"].rows("comparisons", Comparison)
    tracker.log_scores(tracked, datasets["evaluate_trained"].rows("scores", Score), comparisons)
    against = datasets.get("compare_incumbent")
    rows = against.rows("comparisons", Comparison) if against else []
    promoted, reason = judge(_main(rows), running.champion)
    newest = running.number >= last_number(store)  # an old iteration that is repeated changes no champion
    if promoted and newest:
        tracker.promote(tracked)
    record = Iteration(
        number=running.number,
        previous=running.previous,
        datasets={name: dataset.digest for name, dataset in made.items()},
        params_sha256=sha256_json(params.model_dump(mode="json", exclude={"workspace", "store", "publish"})),
        champion_before=running.champion,
        champion_after=train.digest if promoted else running.champion,
        promoted=promoted,
        reason=reason,
    )
    evidence = IterationEvidence(
        mlflow_run=tracked.run_id, mlflow_model=tracked.model_id, prefect_run=prefect_run, data_commit=commit
    )
    written = execute(_RecordStage(), _RecordConfig(record=record, evidence=evidence), made, store)
    if promoted and newest:
        store.set_pointer(CHAMPION, train.digest)
    store.set_pointer(f"iterations/{running.number:04d}", written.digest)
    return written


def run(
    params: Params, store: Store, number: int = 0, *, on_step: Callable[[Step], None] = lambda _: None
) -> Dataset:
    """A whole iteration without Prefect; returns its record's dataset."""
    running = begin(params, store, number)
    for step in running.steps():
        on_step(step)
        running.run(step)
    return conclude(running)


def _main(comparisons: list[Comparison]) -> Comparison | None:
    """The comparison that decides: held-out functions with visible tests."""
    found = [c for c in comparisons if (c.suite, c.setting) == ("heldout", "visible")]
    return found[0] if found else None
