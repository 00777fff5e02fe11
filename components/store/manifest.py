"""What a dataset is, where it came from and what it cost. Lineage is nothing but these, joined."""

import json
from datetime import datetime

from pydantic import JsonValue, ValidationError

from components.records.base import Json, Record, canonical_json
from components.records.errors import CorruptionError
from components.store.digests import sha256_bytes, sha256_json

SCHEMA_VERSION = 1
EVIDENCE = "evidence/"
"""Files below it differ between two equal runs."""


class OutputFile(Record):
    """One file of a dataset."""

    path: str
    """Relative to the dataset, e.g. `tables/tasks-00000.parquet`."""
    sha256: str
    bytes: int
    rows: int | None = None
    """None for anything but a table."""


class Manifest(Record):
    """One run of one stage."""

    schema_version: int = SCHEMA_VERSION
    stage: str
    key: str
    """Stage cache key: sha256 over stage, its version, config and input digests."""
    code_version: int
    code_commit: str
    """Empty when the code is not in a git repository."""
    dirty: bool
    lock_sha256: str
    machine: str
    config: Json
    inputs: dict[str, str]
    """Name to dataset digest."""
    files: tuple[OutputFile, ...]
    rows: dict[str, int]
    """Table to number of rows."""
    rejected: dict[str, int]
    """Reason to number of items."""
    cost: dict[str, float]
    started: datetime
    ended: datetime
    deterministic: bool = True
    why: str = ""
    """Why the same inputs may give another digest."""

    @property
    def digest(self) -> str:
        """Address of the dataset: content only, so equal data has an equal digest.

        Evidence (timings, dated reports) is hashed and verified like any file, but is no part of the address.
        """
        return sha256_json([self.stage, self._listing(evidence=False)])

    @property
    def evidence(self) -> str:
        """Address of the evidence, which two runs with one dataset have each their own of; empty if none."""
        listing = self._listing(evidence=True)
        return sha256_json([self.stage, listing]) if listing else ""

    def object_names(self) -> dict[str, str]:
        """Where in the store each of its files is, and its manifest."""
        content, evidence = f"datasets/{self.digest}/", f"evidence/{self.evidence}/"
        names = {"manifest.json": content + "manifest.json"}
        for path in (file.path for file in self.files):
            is_evidence = path.startswith(EVIDENCE)
            names[path] = evidence + path.removeprefix(EVIDENCE) if is_evidence else content + path
        return names

    def _listing(self, *, evidence: bool) -> list[JsonValue]:
        files = sorted((file.path, file.sha256) for file in self.files)
        return [[path, sha] for path, sha in files if path.startswith(EVIDENCE) is evidence]


def dump_manifest(manifest: Manifest) -> bytes:
    """The manifest as sealed JSON: its own sha256 is in it, since the dataset's digest does not cover it."""
    body = manifest.model_dump(mode="json")
    sealed = {**body, "seal": sha256_bytes(canonical_json(body).encode())}
    return (json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def load_manifest(data: bytes, path: object) -> Manifest:
    """The manifest in some bytes; any changed byte is a `CorruptionError` that names `path`."""
    try:
        body = json.loads(data)
        seal = body.pop("seal")
        manifest = Manifest.model_validate(body)
    except (ValueError, ValidationError, KeyError, AttributeError, TypeError) as error:
        raise CorruptionError(path, "of a manifest", sha256_bytes(data)) from error
    if dump_manifest(manifest) != data:
        raise CorruptionError(path, str(seal), sha256_bytes(data))
    return manifest
