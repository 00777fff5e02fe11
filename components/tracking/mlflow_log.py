"""One MLflow run per trained checkpoint, with a two-phase LoggedModel and a registry entry.

MLflow is a projection of the store: everything here can be told again, and telling it twice changes nothing.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from components.records.errors import InfrastructureError
from components.records.evaluation import Comparison, Score
from components.records.training import Checkpoint, TrainPoint
from components.store.dataset import Dataset
from components.store.workspace import Workspace

_DIGEST_CHARACTERS = 32
"""MLflow allows 36 characters for a dataset's digest; the whole sha256 is in a tag beside it."""


@dataclass(frozen=True)
class Tracked:
    """Where a checkpoint stands in MLflow."""

    run_id: str
    model_id: str
    version: str
    uri: str


class Tracker:
    """Logs to one tracking server.

    Args:
        workspace: Holds the sqlite database and artifacts when there is no server.
        uri: Tracking server or database; empty for sqlite in the workspace.
        experiment: Name of the experiment.
        model: Name in the registry.
    """

    def __init__(self, workspace: Workspace, uri: str, experiment: str, model: str) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        os.environ.setdefault("DO_NOT_TRACK", "true")
        self.uri = tracking_uri(workspace, uri)
        self._name, self._experiment = model, experiment
        self._local = not uri
        self._root = workspace.root
        self._client = self._connect(workspace)

    def _connect(self, workspace: Workspace) -> Any:
        import mlflow
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient

        if self._local:
            workspace.locks.mkdir(parents=True, exist_ok=True)
            # Processes that create the schema at once would trip over each other.
            with FileLock(workspace.locks / "mlflow.lock"):
                _migrate(self.uri)
        # The registry looks models up through the global address, whatever its client was told.
        mlflow.set_tracking_uri(self.uri)
        client = MlflowClient(tracking_uri=self.uri, registry_uri=self.uri)
        try:
            found = client.get_experiment_by_name(self._experiment)
            if found is None:
                location = (self._root / "mlflow-artifacts").as_uri() if self._local else None
                self._experiment_id = client.create_experiment(self._experiment, artifact_location=location)
            else:
                self._experiment_id = found.experiment_id
        except MlflowException as error:
            line = str(error).splitlines()[0]
            raise InfrastructureError(f"MLflow at {self.uri} does not answer: {line}") from error
        return client

    def log_checkpoint(
        self,
        checkpoint: Checkpoint,
        folder: Path,
        curve: Sequence[TrainPoint],
        inputs: Mapping[str, Dataset],
        *,
        dataset_digest: str,
        tags: Mapping[str, str],
    ) -> Tracked:
        """Log a training run and its model; found again, not logged twice, when it is there already.

        The model becomes READY only after what MLflow holds has the digests of the checkpoint.
        """
        found = self._client.search_runs(
            [self._experiment_id],
            f"tags.`flywheel.train_dataset` = '{dataset_digest}' and tags.`flywheel.complete` = 'yes'",
            max_results=1,
        )
        if found:
            data = found[0].data.tags
            return Tracked(
                found[0].info.run_id, data["flywheel.model_id"], data["flywheel.model_version"], self.uri
            )
        run = self._client.create_run(
            self._experiment_id,
            run_name=f"train-{checkpoint.digest[:8]}",
            tags={
                "flywheel.train_dataset": dataset_digest,
                "flywheel.checkpoint": checkpoint.digest,
                "flywheel.base_model": checkpoint.base_model,
                **tags,
            },
        )
        run_id = run.info.run_id
        try:
            self._log_run(run_id, checkpoint, curve, inputs)
            model_id = self._log_model(run_id, checkpoint, folder)
            version = self._register(run_id, model_id, checkpoint, dataset_digest)
            for key, value in (
                ("flywheel.model_id", model_id),
                ("flywheel.model_version", version),
                ("flywheel.complete", "yes"),
            ):
                self._client.set_tag(run_id, key, value)
        except BaseException:
            self._client.set_terminated(run_id, "FAILED")
            raise
        self._client.set_terminated(run_id, "FINISHED")
        return Tracked(run_id, model_id, version, self.uri)

    def log_scores(
        self, tracked: Tracked, scores: Sequence[Score], comparisons: Sequence[Comparison]
    ) -> None:
        """Evaluation metrics, bound to the run and its model."""
        values = {f"{s.suite}.{s.setting}.resolved_rate": s.resolved_rate for s in scores}
        values |= {f"{c.suite}.{c.setting}.difference": c.difference for c in comparisons}
        for key, value in values.items():
            self._client.log_metric(tracked.run_id, key, value, step=0, model_id=tracked.model_id)

    def promote(self, tracked: Tracked) -> None:
        """Point the alias `champion` at a version."""
        self._client.set_registered_model_alias(self._name, "champion", tracked.version)

    def champion(self) -> str | None:
        """Digest of the train dataset that `champion` points at; None when there is none."""
        from mlflow.exceptions import MlflowException

        try:
            version = self._client.get_model_version_by_alias(self._name, "champion")
        except MlflowException:
            return None
        return str(version.tags["flywheel.train_dataset"])

    def _log_run(
        self, run_id: str, checkpoint: Checkpoint, curve: Sequence[TrainPoint], inputs: Mapping[str, Dataset]
    ) -> None:
        from mlflow.data.dataset_source_registry import resolve_dataset_source
        from mlflow.data.meta_dataset import MetaDataset
        from mlflow.entities import DatasetInput, InputTag, Metric, Param

        config = checkpoint.config if isinstance(checkpoint.config, dict) else {}
        self._client.log_batch(
            run_id,
            metrics=[
                Metric(name, getattr(point, name), 0, point.step)
                for point in curve
                for name in ("loss", "learning_rate", "grad_norm", "tokens")
            ],
            params=[Param(key, str(value)) for key, value in config.items()],
        )
        entries = []
        for name, dataset in inputs.items():
            source = resolve_dataset_source(dataset.folder.as_uri())
            meta = MetaDataset(source, name=name, digest=dataset.digest[:_DIGEST_CHARACTERS])
            entries.append(
                DatasetInput(
                    meta._to_mlflow_entity(),
                    [InputTag("mlflow.data.context", "training"), InputTag("sha256", dataset.digest)],
                )
            )
        self._client.log_inputs(run_id, datasets=entries)

    def _log_model(self, run_id: str, checkpoint: Checkpoint, folder: Path) -> str:
        from mlflow.entities import LoggedModelStatus

        model = self._client.create_logged_model(
            experiment_id=self._experiment_id,
            name=f"checkpoint-{checkpoint.digest[:8]}",
            source_run_id=run_id,
            tags={"flywheel.checkpoint": checkpoint.digest},
            model_type="causal-lm",
        )
        ready = False
        try:
            self._client.log_model_artifacts(model.model_id, str(folder))
            held = {
                Path(item.path).name: item.file_size
                for item in self._client.list_logged_model_artifacts(model.model_id)
            }
            ready = all(held.get(file.path) == file.bytes for file in checkpoint.files)
        finally:
            status = LoggedModelStatus.READY if ready else LoggedModelStatus.FAILED
            self._client.finalize_logged_model(model.model_id, status)
        if not ready:
            raise InfrastructureError(
                f"MLflow at {self.uri} holds an incomplete checkpoint {checkpoint.digest[:12]}"
            )
        return str(model.model_id)

    def _register(self, run_id: str, model_id: str, checkpoint: Checkpoint, dataset_digest: str) -> str:
        from mlflow.exceptions import MlflowException

        with contextlib.suppress(MlflowException):  # it is there already
            self._client.create_registered_model(self._name)
        version = self._client.create_model_version(
            self._name,
            source=f"models:/{model_id}",
            run_id=run_id,
            model_id=model_id,
            tags={"flywheel.checkpoint": checkpoint.digest, "flywheel.train_dataset": dataset_digest},
        )
        return str(version.version)


def tracking_uri(workspace: Workspace, configured: str) -> str:
    """The server that is configured, or the workspace's database."""
    return configured or workspace.mlflow_uri


def _migrate(uri: str) -> None:
    """Create or upgrade the schema, once, before anybody uses it."""
    from mlflow.store.db.utils import _initialize_tables, create_sqlalchemy_engine
    from sqlalchemy import inspect

    path = Path(uri.removeprefix("sqlite:///"))
    path.parent.mkdir(parents=True, exist_ok=True)
    engine = create_sqlalchemy_engine(uri)
    try:
        if not inspect(engine).get_table_names():
            _initialize_tables(engine)
    finally:
        engine.dispose()
