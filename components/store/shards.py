"""Shards of an unfinished stage: consecutive items, finished together, never done twice.

A shard is a folder with one Parquet file a table and a completion marker, `done.json`, and appears with
one rename. The marker holds a digest of the items' keys (row identity decides what is done), the digests of
the files, and what was rejected and spent, so that the counts of a stage survive its restarts.
"""

import logging
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pydantic import ValidationError

from components.records.base import Record
from components.store.account import Account
from components.store.digests import sha256_file, sha256_json
from components.store.parquet import write_table

log = logging.getLogger(__name__)

T = TypeVar("T")
Tables = Mapping[str, type[Record]]


class ShardFile(Record):
    """One table of a shard."""

    sha256: str
    rows: int


class Marker(Record):
    """`done.json`."""

    items: str
    """sha256 over the keys of the items."""
    tables: dict[str, ShardFile]
    rejected: dict[str, int]
    cost: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class Shard:
    """Where one shard is and which items it has."""

    folder: Path
    first: int
    count: int
    items: str

    def marker(self, tables: Tables) -> Marker | None:
        """The marker of a finished shard whose files are whole; anything else is cleared away."""
        path = self.folder / "done.json"
        if not self.folder.exists():
            return None
        try:
            marker = Marker.model_validate_json(path.read_bytes())
        except (FileNotFoundError, ValidationError):
            marker = None
        if (
            marker is not None
            and marker.items == self.items
            and marker.tables.keys() == tables.keys()
            and all(whole(self.folder / f"{name}.parquet", file) for name, file in marker.tables.items())
        ):
            return marker
        log.warning("%s is not whole: it will be done again", self.folder)
        shutil.rmtree(self.folder)
        return None

    def finish(self, tables: Mapping[str, pa.Table], account: Account, seconds: float) -> Marker:
        """Write the shard and rename it into place."""
        part = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        try:
            files = {}
            for name, table in tables.items():
                files[name] = write_part(table, part / f"{name}.parquet")
            marker = Marker(
                items=self.items,
                tables=files,
                rejected=dict(account.rejected),
                cost=account.cost,
                seconds=seconds,
            )
            (part / "done.json").write_text(marker.model_dump_json())
            part.rename(self.folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return marker


def write_part(table: pa.Table, path: Path) -> ShardFile:
    """Write rows of an unfinished stage."""
    write_table(table, path)
    return ShardFile(sha256=sha256_file(path), rows=table.num_rows)


def whole(path: Path, file: ShardFile) -> bool:
    """True if a file is there as it was written."""
    return path.is_file() and sha256_file(path) == file.sha256


def plan(folder: Path, items: Sequence[T], key: Callable[[T], str], size: int) -> list[Shard]:
    """Cut items into shards.

    Raises:
        ValueError: Two items have the same key.
    """
    keys = [key(item) for item in items]
    if len(set(keys)) < len(keys):
        twice = [name for name, count in Counter(keys).items() if count > 1]
        raise ValueError(f"items with the same key: {', '.join(twice[:5])}")
    return [
        Shard(
            folder / f"{n:05d}",
            first,
            len(keys[first : first + size]),
            sha256_json(list(keys[first : first + size])),
        )
        for n, first in enumerate(range(0, len(keys), size))
    ]
