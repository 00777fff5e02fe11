"""Evidence is kept and verified, and no part of a dataset's address."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from components.records.base import Record
from components.records.errors import CorruptionError
from components.store.dataset import Dataset
from components.store.output import Output
from components.store.stage import execute
from components.store.store import Store
from components.store.workspace import Workspace


class Row(Record):
    id: str


class Clock(Record):
    is_evidence = True

    id: str
    seconds: float


class Config(BaseModel):
    seconds: float


class Timed:
    name, version = "timed", 1

    def run(self, config: Config, inputs: Mapping[str, Dataset], out: Output) -> None:
        out.write("rows", [Row(id="a")], Row)
        out.write("clocks", [Clock(id="a", seconds=config.seconds)], Clock)
        (out.folder("docs", evidence=True) / "index.html").write_text(str(config.seconds))


def test_two_runs_that_differ_in_evidence_have_one_digest(tmp_path: Path) -> None:
    made = [execute(Timed(), Config(seconds=n), {}, Store(Workspace(tmp_path / str(n)))) for n in (1.0, 2.0)]
    assert made[0].digest == made[1].digest
    assert [row.seconds for row in made[1].rows("clocks", Clock)] == [2.0]
    assert made[1].file("evidence/docs/index.html").read_text() == "2.0"


def test_evidence_is_verified(tmp_path: Path) -> None:
    made = execute(Timed(), Config(seconds=1.0), {}, Store(Workspace(tmp_path)))
    made.file("evidence/docs/index.html").write_text("forged")
    with pytest.raises(CorruptionError, match=r"index\.html"):
        made.verify()


def test_each_run_keeps_its_evidence(tmp_path: Path) -> None:
    """Two runs of one store with the same result: neither takes the other's evidence for a damaged file."""
    store = Store(Workspace(tmp_path))
    made = [execute(Timed(), Config(seconds=n), {}, store) for n in (1.0, 2.0)]
    assert made[0].digest == made[1].digest
    for seconds, dataset in zip((1.0, 2.0), made, strict=True):
        assert [row.seconds for row in dataset.rows("clocks", Clock)] == [seconds]
        dataset.verify()
        assert execute(Timed(), Config(seconds=seconds), {}, store).cached
    assert store.get(made[1].digest).manifest == made[0].manifest


def test_lost_evidence_is_made_again(tmp_path: Path) -> None:
    store = Store(Workspace(tmp_path))
    made = execute(Timed(), Config(seconds=1.0), {}, store)
    made.file("evidence/docs/index.html").unlink()
    again = execute(Timed(), Config(seconds=1.0), {}, store)
    assert not again.cached
    assert again.file("evidence/docs").name == "docs"
