"""The read side: every file is checked against its digest before its bytes are believed."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from components.records.base import Record
from components.records.errors import CorruptionError
from components.store.digests import sha256_file
from components.store.manifest import Manifest
from components.store.objects import ObjectStore
from components.store.parquet import read_table

R = TypeVar("R", bound=Record)

_TABLE_FILE = re.compile(r"(?:evidence/)?tables/(?P<table>.+)-\d{5}\.parquet")


class Dataset:
    """One published dataset."""

    def __init__(self, manifest: Manifest, objects: ObjectStore, *, cached: bool = False) -> None:
        self.manifest = manifest
        self.digest = manifest.digest
        self.cached = cached
        """True when `execute` found it instead of making it."""
        self._objects = objects
        self._files = {file.path: file for file in manifest.files}
        self._names = manifest.object_names()
        self._seen: dict[str, tuple[int, int, int]] = {}

    def __repr__(self) -> str:
        return f"<Dataset {self.manifest.stage} {self.digest[:12]}>"

    @property
    def name(self) -> str:
        """Its object name in the store."""
        return f"datasets/{self.digest}"

    @property
    def folder(self) -> Path:
        """A local folder with all of it but evidence, which has a place of its own; all of it checked."""
        for path in self._files:
            self._checked(path)
        return self._objects.fetch(f"{self.name}/manifest.json").parent

    def tables(self) -> list[str]:
        """Names of its tables, sorted."""
        return sorted(self.manifest.rows)

    def table(self, table: str) -> pa.Table:
        """All rows of a table."""
        return pa.concat_tables([read_table(self._checked(path)) for path in self._table_files(table)])

    def rows(self, table: str, record: type[R]) -> list[R]:
        """All rows of a table as records."""
        return [
            row
            for path in self._table_files(table)
            for row in record.from_table(read_table(self._checked(path)))
        ]

    def file(self, path: str) -> Path:
        """A local path of a file, or of a folder of files, e.g. `files/model`."""
        if path in self._files:
            return self._checked(path)
        inside = [name for name in self._files if name.startswith(f"{path}/")]
        if not inside:
            raise KeyError(f"{self!r} has no file {path!r}; it has: {', '.join(self._files)}")
        depth = inside[0].count("/") - path.count("/")
        local = [self._checked(name) for name in inside]
        return local[0].parents[depth - 1]

    def verify(self) -> None:
        """Read every byte again, from the store and not from a cache, and compare."""
        for path in self._files:
            self.reread(path)

    def reread(self, path: str) -> Path:
        """Read every byte of one file again, from the store and not from a cache, and compare."""
        return self._checked(path, fresh=True)

    def unexpected(self) -> list[str]:
        """Where objects lie that are under the dataset's name and not in its manifest."""
        known = set(self._names.values())
        return [self._objects.locate(name) for name in self._sizes() if name not in known]

    def columns(self, table: str, names: Sequence[str]) -> pa.Table:
        """Some columns of a table: ids of many rows without their text."""
        paths = [self._checked(path) for path in self._table_files(table)]
        return pa.concat_tables([pq.ParquetFile(path).read(columns=list(names)) for path in paths])

    def missing(self) -> list[str]:
        """Files that are not there at all. One of another length is a `CorruptionError`."""
        sizes = self._sizes()
        for path, file in self._files.items():
            found = sizes.get(self._names[path])
            if found not in (None, file.bytes):
                where = self._objects.locate(self._names[path])
                raise CorruptionError(where, f"{file.sha256[:12]} of {file.bytes} bytes", f"{found} bytes")
        return [path for path in self._files if self._names[path] not in sizes]

    def _sizes(self) -> dict[str, int]:
        evidence = f"evidence/{self.manifest.evidence}"
        return self._objects.sizes(self.name) | (
            self._objects.sizes(evidence) if self.manifest.evidence else {}
        )

    def _table_files(self, table: str) -> list[str]:
        found = [path for path in self._files if (m := _TABLE_FILE.fullmatch(path)) and m["table"] == table]
        if not found:
            raise KeyError(f"{self!r} has no table {table!r}; it has: {', '.join(self.tables())}")
        return sorted(found)

    def _checked(self, path: str, *, fresh: bool = False) -> Path:
        """The local path of a file whose bytes are what its digest says."""
        file = self._files[path]
        name = self._names[path]
        try:
            local = self._objects.fetch(name, fresh=fresh)
            if not fresh and self._seen.get(path) == _stamp(local):
                return local
            found = sha256_file(local)
            if found != file.sha256 and not fresh and not self._objects.local:
                return self._checked(path, fresh=True)  # the cache may be at fault
        except FileNotFoundError as error:
            raise CorruptionError(self._objects.locate(name), file.sha256, "nothing") from error
        if found != file.sha256:
            raise CorruptionError(self._objects.locate(name), file.sha256, found)
        self._seen[path] = _stamp(local)
        return local


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
