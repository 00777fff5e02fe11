"""Every path that the flywheel uses on this machine. Nothing else joins paths under the root."""

from dataclasses import dataclass
from pathlib import Path

DEFAULT_ROOT = Path(".flywheel")


@dataclass(frozen=True)
class Workspace:
    """One folder that holds all state; deleting it deletes everything that a run has made."""

    root: Path = DEFAULT_ROOT

    def __post_init__(self) -> None:
        # Absolute, so that a stage may change its working directory and worker processes agree.
        object.__setattr__(self, "root", Path(self.root).absolute())

    @property
    def store(self) -> Path:
        """Published datasets, when the store is a local folder."""
        return self.root / "store"

    @property
    def work(self) -> Path:
        """Unfinished stages, one folder a stage key; found again after a crash."""
        return self.root / "work"

    @property
    def locks(self) -> Path:
        """Lock files; a lock is released when its process dies."""
        return self.root / "locks"

    @property
    def environments(self) -> Path:
        """Environment and repository trees, content-addressed."""
        return self.root / "environments"

    @property
    def cache(self) -> Path:
        """What can be fetched again: downloads, and objects of a remote store."""
        return self.root / "cache"

    @property
    def data(self) -> Path:
        """The data repository: git and DVC."""
        return self.root / "data"

    @property
    def reports(self) -> Path:
        """Reports of iterations."""
        return self.root / "reports"

    @property
    def mlflow_uri(self) -> str:
        """Tracking database of MLflow."""
        return f"sqlite:///{self.root / 'mlflow.db'}"
