"""Every record of the package survives Arrow and Parquet."""

import importlib
import pkgutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import components.records
from components.records.base import Record
from components.store.manifest import Manifest
from components.store.parquet import read_table, write_table
from tests.records.strategies import records

for module in pkgutil.iter_modules(components.records.__path__, "components.records."):
    importlib.import_module(module.name)

ALL = sorted(
    (cls for cls in Record.__subclasses__() if cls.__module__.startswith("components.records.")),
    key=lambda cls: cls.__name__,
)


def test_none_is_forgotten() -> None:
    assert {"Task", "Trajectory", "Example", "Checkpoint", "Verdict", "Score"} <= {
        cls.__name__ for cls in ALL
    }


@pytest.mark.parametrize("cls", [*ALL, Manifest], ids=lambda cls: cls.__name__)
def test_round_trip_through_parquet(cls: type[Record]) -> None:
    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(records(cls), max_size=3))
    def check(rows: list[Record]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.parquet"
            write_table(cls.to_table(rows), path)
            assert cls.from_table(read_table(path)) == rows

    check()
