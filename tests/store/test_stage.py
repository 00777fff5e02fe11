"""`execute` end to end on a local store."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from components.records.errors import InputError
from components.store import Output, Store, Workspace, execute
from components.store.stage import stage_key
from tests.store.stages import AdHoc, Empty, Number, Square, SquareConfig, run_square


def test_publishes_rows_files_and_counts(workspace: Workspace) -> None:
    made = run_square(workspace)
    assert [row.value for row in made.rows("numbers", Number)] == [1, 2, 3, 4, 6, 7, 8, 9]
    assert made.file("files/text/readme.txt").read_text() == "squares"
    assert made.tables() == ["numbers"]
    assert made.table("numbers").num_rows == 8
    assert sorted(path.name for path in made.folder.iterdir()) == ["files", "manifest.json", "tables"]
    manifest = made.manifest
    assert manifest.rejected == {"fifth": 2}
    assert manifest.rows == {"numbers": 8}
    assert manifest.cost["tokens"] == 10
    assert manifest.started <= manifest.ended <= datetime.now(UTC)
    assert manifest.config == SquareConfig().model_dump(mode="json")
    assert not list(workspace.work.iterdir())


@pytest.mark.parametrize(("workers", "shard_size"), [(1, 1), (2, 4), (3, 100)])
def test_digest_does_not_depend_on_how_it_was_made(tmp_path: Path, workers: int, shard_size: int) -> None:
    reference = run_square(Workspace(tmp_path / "a"))
    made = run_square(Workspace(tmp_path / "b"), SquareConfig(workers=workers, shard_size=shard_size))
    assert made.digest == reference.digest
    assert made.manifest.key == reference.manifest.key
    assert made.manifest.rejected == reference.manifest.rejected


def test_second_run_is_cached(workspace: Workspace) -> None:
    first = run_square(workspace)
    second = run_square(workspace, SquareConfig(workers=2))
    assert second.cached and not first.cached
    assert second.manifest == first.manifest


def test_equal_data_has_one_address(workspace: Workspace, store: Store) -> None:
    def one(out: Output) -> None:
        out.write("numbers", [Number(value=1, square=1)], Number)

    class Two(AdHoc):
        version = 2

    a = execute(AdHoc(one), Empty(), {}, store)
    b = execute(Two(one), Empty(), {}, store)
    assert a.digest == b.digest and a.manifest.key != b.manifest.key
    assert len(store.all()) == 2
    assert len(list((workspace.store / "datasets").iterdir())) == 1


def test_version_config_and_inputs_decide_the_key(workspace: Workspace) -> None:
    class Later(Square):
        version = 2

    data, other = run_square(workspace), run_square(workspace, SquareConfig(count=3))
    keys = {
        stage_key(Square(), SquareConfig(), {}),
        stage_key(Later(), SquareConfig(), {}),
        stage_key(Square(), SquareConfig(offset=1), {}),
        stage_key(Square(), SquareConfig(), {"a": data}),
        stage_key(Square(), SquareConfig(), {"b": data}),
        stage_key(Square(), SquareConfig(), {"a": other}),
    }
    assert len(keys) == 6


class Colour(StrEnum):
    RED = "red"


class Inner(BaseModel):
    path: Path = Path("x")
    jobs: int = Field(default=1, json_schema_extra={"affects_output": False})


class Outer(BaseModel):
    names: frozenset[str] = frozenset({"a", "b", "c"})
    inner: tuple[Inner, ...] = (Inner(),)
    by_colour: dict[Colour, Inner] = {Colour.RED: Inner()}
    when: datetime = datetime(2026, 1, 1, tzinfo=UTC)


def test_key_looks_into_nested_config() -> None:
    reference = stage_key(Square(), Outer(), {})
    assert stage_key(Square(), Outer(inner=(Inner(jobs=9),)), {}) == reference
    assert stage_key(Square(), Outer(by_colour={Colour.RED: Inner(jobs=9)}), {}) == reference
    assert stage_key(Square(), Outer(inner=(Inner(path=Path("y")),)), {}) != reference
    assert stage_key(Square(), Outer(names=frozenset("a")), {}) != reference


def test_failed_stage_publishes_nothing(workspace: Workspace, store: Store) -> None:
    def fail(out: Output) -> None:
        out.write("numbers", [Number(value=1, square=1)], Number)
        raise InputError("no")

    with pytest.raises(InputError):
        execute(AdHoc(fail), Empty(), {}, store)
    assert store.all() == []
    assert not workspace.store.exists()


def test_says_that_it_is_not_deterministic(store: Store) -> None:
    made = execute(AdHoc(lambda out: out.nondeterministic("a sampled teacher")), Empty(), {}, store)
    assert not made.manifest.deterministic
    assert made.manifest.why == "a sampled teacher"
    assert made.folder.is_dir()
