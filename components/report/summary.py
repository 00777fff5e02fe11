"""Everything that a report shows, read from the manifests and tables of one iteration."""

from dataclasses import dataclass

from components.records.evaluation import Comparison, Diagnosis, Score, Speed
from components.records.iteration import Iteration, IterationEvidence
from components.records.quality import Verdict
from components.records.training import Checkpoint, TrainPoint
from components.store.dataset import Dataset
from components.store.manifest import Manifest
from components.store.store import Store


@dataclass(frozen=True)
class StageLine:
    """One stage of the funnel."""

    step: str
    digest: str
    rows: dict[str, int]
    rejected: dict[str, int]
    seconds: float
    cached: bool
    deterministic: bool
    why: str


@dataclass(frozen=True)
class Summary:
    """One iteration."""

    record: Iteration
    evidence: IterationEvidence
    digest: str
    stages: tuple[StageLine, ...]
    base: tuple[Score, ...]
    trained: tuple[Score, ...]
    speeds: tuple[Speed, ...]
    comparisons: tuple[Comparison, ...]
    diagnoses: tuple[Diagnosis, ...]
    curve: tuple[TrainPoint, ...]
    checkpoint: Checkpoint
    verdicts: tuple[Verdict, ...]
    manifests: dict[str, Manifest]
    data_docs: str
    """Path of the Data Docs' first page, or empty."""

    @property
    def seconds(self) -> float:
        """Work of all stages when they were made."""
        return sum(stage.seconds for stage in self.stages)


def summarise(store: Store, digest: str, cached: frozenset[str] = frozenset()) -> Summary:
    """Read an iteration.

    Args:
        store: Where it is.
        digest: Of its record.
        cached: Steps that this run found in the store.
    """
    written = store.get(digest)
    record = written.rows("iteration", Iteration)[0]
    made = {name: store.get(found) for name, found in record.datasets.items()}
    return Summary(
        record=record,
        evidence=written.rows("evidence", IterationEvidence)[0],
        digest=digest,
        stages=tuple(_line(name, dataset, name in cached) for name, dataset in made.items()),
        base=tuple(made["evaluate_base"].rows("scores", Score)),
        trained=tuple(made["evaluate_trained"].rows("scores", Score)),
        speeds=tuple(made["evaluate_trained"].rows("speeds", Speed)),
        comparisons=tuple(made["analyse"].rows("comparisons", Comparison)),
        diagnoses=tuple(made["analyse"].rows("diagnoses", Diagnosis)),
        curve=tuple(made["train"].rows("curve", TrainPoint)),
        checkpoint=made["train"].rows("checkpoint", Checkpoint)[0],
        verdicts=tuple(made["gates"].rows("verdicts", Verdict)),
        manifests={name: dataset.manifest for name, dataset in made.items()},
        data_docs=_data_docs(made["gates"]),
    )


def _line(name: str, dataset: Dataset, cached: bool) -> StageLine:
    manifest = dataset.manifest
    return StageLine(
        step=name,
        digest=dataset.digest,
        rows=manifest.rows,
        rejected=manifest.rejected,
        seconds=manifest.cost.get("wall_seconds", 0.0),
        cached=cached,
        deterministic=manifest.deterministic,
        why=manifest.why,
    )


def _data_docs(gates: Dataset) -> str:
    pages = [file.path for file in gates.manifest.files if file.path.endswith("data_docs/index.html")]
    return str(gates.file(pages[0])) if pages else ""
