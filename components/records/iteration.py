"""One turn of the flywheel."""

from components.records.base import Record


class Iteration(Record):
    """Which datasets an iteration consists of, and whether its model became champion."""

    number: int
    previous: str
    """Digest of the previous iteration's record; empty for the first."""
    datasets: dict[str, str]
    """Step -> dataset digest."""
    params_sha256: str
    champion_before: str
    """Digest of a `train` dataset, or empty."""
    champion_after: str
    promoted: bool
    reason: str


class IterationEvidence(Record):
    """Where an iteration can be looked at; differs between two equal runs."""

    is_evidence = True

    mlflow_run: str
    mlflow_model: str
    prefect_run: str
    data_commit: str
    """Commit of the data repository."""
