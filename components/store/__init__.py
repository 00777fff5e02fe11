"""Immutable datasets addressed by content, and the cache of stages over them. See `stage.execute`."""

from components.store.account import cost, reject
from components.store.dataset import Dataset
from components.store.manifest import Manifest, OutputFile
from components.store.output import Output
from components.store.stage import Stage, execute
from components.store.store import Store
from components.store.workspace import Workspace

__all__ = [
    "Dataset",
    "Manifest",
    "Output",
    "OutputFile",
    "Stage",
    "Store",
    "Workspace",
    "cost",
    "execute",
    "reject",
]
