"""A small real stage that tests run, here and in other processes."""

import functools
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from components.records.base import Json, Record
from components.records.errors import InfrastructureError, InputError
from components.store import Dataset, Output, Store, Workspace, cost, execute, reject

UNSEEN: JsonDict = {"affects_output": False}


class Number(Record):
    value: int
    square: int
    notes: Json = None


class SquareConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    count: int = 10
    offset: int = 0
    workers: int = Field(default=1, json_schema_extra=UNSEEN)
    shard_size: int = Field(default=3, json_schema_extra=UNSEEN)
    seconds: float = Field(default=0.0, json_schema_extra=UNSEEN)
    """Work that each item takes."""
    kill_at: int = Field(default=-1, json_schema_extra=UNSEEN)
    """Item at which the whole process group dies, once."""


def square(config: SquareConfig, log: Path, item: int) -> Mapping[str, Sequence[Record]]:
    """Every fifth number is turned away; each item leaves a line in `log`, to count how often it was done."""
    time.sleep(config.seconds)
    if item == config.kill_at:
        os.killpg(0, signal.SIGKILL)
    with log.open("a") as file:
        file.write(f"{item}\n")
    cost(tokens=1)
    if item % 5 == 0:
        reject("fifth")
        return {}
    return {"numbers": [Number(value=item, square=item * item + config.offset, notes={"n": item})]}


class Square:
    """Squares numbers."""

    name = "square"
    version = 1

    def run(self, config: SquareConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        out.shards(
            {"numbers": Number},
            list(range(config.count)),
            functools.partial(square, config, out.workspace.root / "items.log"),
            key=str,
            shard_size=config.shard_size,
            workers=config.workers,
        )
        (out.folder("text") / "readme.txt").write_text("squares")


def run_square(workspace: Workspace, config: SquareConfig | None = None) -> Dataset:
    """Execute it on the local store of a workspace."""
    workspace.root.mkdir(parents=True, exist_ok=True)
    return execute(Square(), config or SquareConfig(), {}, Store(workspace))


def items_done(workspace: Workspace) -> list[int]:
    """Every item worked on so far, as often as it was."""
    log = workspace.root / "items.log"
    return [int(line) for line in log.read_text().split()] if log.exists() else []


class AdHoc:
    """A stage that does what a test says."""

    version = 1

    def __init__(self, run: Callable[[Output], None], name: str = "adhoc") -> None:
        self.name = name
        self._run = run

    def run(self, config: BaseModel, inputs: Mapping[str, Dataset], out: Output) -> None:
        self._run(out)


class Empty(BaseModel):
    """No settings."""


def fails_on_seven(item: int) -> Mapping[str, Sequence[Record]]:
    if item == 7:
        raise ZeroDivisionError("seven")
    return {}


def bad_input_on_seven(item: int) -> Mapping[str, Sequence[Record]]:
    if item == 7:
        raise InputError("row 3 is bad")
    return {}


def fails_twice(folder: Path, item: int) -> Mapping[str, Sequence[Record]]:
    """The machine fails the first two times that an item is tried; each try counts a rejection."""
    reject("seen")
    tries = folder / f"{item}"
    tries.write_text(tries.read_text() + "x" if tries.exists() else "x")
    if len(tries.read_text()) < 3:
        raise InfrastructureError("the machine failed")
    return {"numbers": [Number(value=item, square=0)]}


def dies_once(folder: Path, item: int) -> Mapping[str, Sequence[Record]]:
    """Kills its worker the first time that item 3 is tried."""
    if item == 3 and not (folder / "died").exists():
        (folder / "died").touch()
        os._exit(9)
    return {"numbers": [Number(value=item, square=0)]}


def dies_always(item: int) -> Mapping[str, Sequence[Record]]:
    if item == 3:
        os._exit(9)
    return {}


if __name__ == "__main__":
    run_square(Workspace(Path(sys.argv[1])), SquareConfig.model_validate_json(sys.argv[2]))
