"""`execute` end to end on a local store."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from components.records.base import Record
from components.store import Dataset, Output, Store, Workspace, execute, reject


class Number(Record):
    value: int
    square: int


class SquareConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    count: int = 10
    workers: int = Field(default=1, json_schema_extra={"affects_output": False})
    shard_size: int = Field(default=3, json_schema_extra={"affects_output": False})


def square(offset: int, item: int) -> Mapping[str, Sequence[Record]]:
    if item % 5 == 0:
        reject("fifth")
        return {}
    return {"numbers": [Number(value=item, square=item * item + offset)]}


class Square:
    name = "square"
    version = 1

    def run(self, config: SquareConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        out.shards(
            {"numbers": Number},
            list(range(config.count)),
            functools.partial(square, 0),
            key=str,
            shard_size=config.shard_size,
            workers=config.workers,
        )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(Workspace(tmp_path))


def test_publishes_rows_and_counts(store: Store) -> None:
    made = execute(Square(), SquareConfig(), {}, store)
    assert [row.value for row in made.rows("numbers", Number)] == [1, 2, 3, 4, 6, 7, 8, 9]
    assert made.manifest.rejected == {"fifth": 2}
    assert made.manifest.rows == {"numbers": 8}
    assert not list(store.workspace.work.iterdir())


@pytest.mark.parametrize(("workers", "shard_size"), [(1, 1), (2, 4), (3, 100)])
def test_digest_does_not_depend_on_how_it_was_made(tmp_path: Path, workers: int, shard_size: int) -> None:
    reference = execute(Square(), SquareConfig(), {}, Store(Workspace(tmp_path / "a")))
    config = SquareConfig(workers=workers, shard_size=shard_size)
    made = execute(Square(), config, {}, Store(Workspace(tmp_path / "b")))
    assert made.digest == reference.digest
    assert made.manifest.key == reference.manifest.key


def test_second_run_is_cached(store: Store) -> None:
    first = execute(Square(), SquareConfig(), {}, store)
    second = execute(Square(), SquareConfig(workers=2), {}, store)
    assert second.cached and not first.cached
    assert second.manifest == first.manifest
