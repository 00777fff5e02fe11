"""`execute`: a stage as a pure function from config and datasets to a dataset, cached by key."""

import logging
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, JsonValue
from pydantic_core import to_jsonable_python

from components.store.dataset import Dataset
from components.store.digests import sha256_json
from components.store.manifest import Manifest
from components.store.output import Output
from components.store.provenance import code_commit, lock_digest, machine
from components.store.space import no_space_named
from components.store.store import Store

log = logging.getLogger(__name__)

C = TypeVar("C", bound=BaseModel, contravariant=True)
K = TypeVar("K", bound=BaseModel)


class Stage(Protocol[C]):
    """A step of the loop."""

    @property
    def name(self) -> str:
        """Its name, e.g. `synthesis`."""

    @property
    def version(self) -> int:
        """Raised when the meaning of the output changes."""

    def run(self, config: C, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Do the work. The same config and inputs give the same rows, or call `out.nondeterministic`."""


def stage_key(stage: Stage[Any], config: BaseModel, inputs: Mapping[str, Dataset]) -> str:
    """The cache key: sha256 over everything that decides the output."""
    digests: dict[str, JsonValue] = {name: dataset.digest for name, dataset in inputs.items()}
    return sha256_json([stage.name, stage.version, _deciding(config), digests])


def execute(stage: Stage[K], config: K, inputs: Mapping[str, Dataset], store: Store) -> Dataset:
    """Find the stage's dataset in the store, or make and publish it.

    Raises:
        CorruptionError: A stored file is not what its digest says; names it.
        OutOfSpaceError: A device is full; nothing half-written was published.
    """
    key = stage_key(stage, config, inputs)
    with no_space_named(store.workspace.root, Path(store.objects.url)):
        found = store.lookup(key)
        if found is None:
            with store.lock(key):
                found = store.lookup(key)  # another process may have made it while this one waited
                if found is None:
                    return _make(stage, config, inputs, store, key)
    found.cached = True
    log.info("%s: cached, %s", stage.name, found.digest[:12])
    return found


def _make(stage: Stage[K], config: K, inputs: Mapping[str, Dataset], store: Store, key: str) -> Dataset:
    store.forget(key)  # of a dataset that has lost files
    started, clock = datetime.now(UTC), time.perf_counter()
    out = Output(store.workspace, key)
    stage.run(config, inputs, out)
    folder, files, rows, account = out.finish()
    commit, dirty = code_commit()
    account.spend({"wall_seconds": time.perf_counter() - clock})
    manifest = Manifest(
        stage=stage.name,
        key=key,
        code_version=stage.version,
        code_commit=commit,
        dirty=dirty,
        lock_sha256=lock_digest(),
        machine=machine(),
        config=config.model_dump(mode="json"),
        inputs={name: dataset.digest for name, dataset in inputs.items()},
        files=files,
        rows=rows,
        rejected=dict(account.rejected),
        cost=account.cost,
        started=started,
        ended=datetime.now(UTC),
        deterministic=out.deterministic,
        why=out.why,
    )
    dataset = store.publish(manifest, folder)
    out.discard()
    log.info("%s: made %s, %s", stage.name, dataset.digest[:12], rows)
    return dataset


def _deciding(value: object) -> JsonValue:
    """The value as JSON, without config fields that are marked as not affecting the output."""
    if isinstance(value, BaseModel):
        return {
            name: _deciding(getattr(value, name))
            for name, info in type(value).model_fields.items()
            if not (
                isinstance(info.json_schema_extra, dict)
                and info.json_schema_extra.get("affects_output") is False
            )
        }
    if isinstance(value, Mapping):
        return {str(to_jsonable_python(name)): _deciding(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_deciding(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_deciding(item) for item in value), key=sha256_json)
    result: JsonValue = to_jsonable_python(value)
    return result
