"""The Arrow mapping of records."""

import json
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from pydantic import Field, ValidationError, create_model

from components.records.base import Json, Record, canonical_json
from tests.records.strategies import JSON, records


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Record):
    name: str
    weights: dict[str, float] = Field(default_factory=dict)


class Everything(Record):
    text: str
    maybe: str | None
    number: int
    ratio: float
    flag: bool
    blob: bytes
    when: datetime
    colour: Colour
    mode: Literal["a", "b"]
    names: tuple[str, ...]
    nested: tuple[tuple[int, ...], ...]
    part: Part
    maybe_part: Part | None
    parts: dict[str, Part]
    payload: Json
    payloads: tuple[Json, ...]
    by_name: dict[str, Json]


@settings(deadline=None)
@given(records(Everything))
def test_round_trip(row: Everything) -> None:
    assert Everything.from_table(Everything.to_table([row, row])) == [row, row]


@settings(deadline=None)
@given(records(Everything))
def test_equal_records_give_equal_bytes(row: Everything) -> None:
    again = Everything.model_validate(row.model_dump())
    assert Everything.to_table([again]).equals(Everything.to_table([row]))


def test_schema() -> None:
    schema = Everything.arrow_schema()
    expected: dict[str, tuple[pa.DataType, bool]] = {
        "text": (pa.string(), False),
        "maybe": (pa.string(), True),
        "number": (pa.int64(), False),
        "ratio": (pa.float64(), False),
        "flag": (pa.bool_(), False),
        "blob": (pa.binary(), False),
        "when": (pa.timestamp("us", tz="UTC"), False),
        "colour": (pa.string(), False),
        "mode": (pa.string(), False),
        "names": (pa.list_(pa.string()), False),
        "nested": (pa.list_(pa.list_(pa.int64())), False),
        "payload": (pa.string(), True),
        "payloads": (pa.list_(pa.string()), False),
        "by_name": (pa.map_(pa.string(), pa.string()), False),
    }
    for name, (kind, nullable) in expected.items():
        assert (schema.field(name).type, schema.field(name).nullable) == (kind, nullable), name
    part = schema.field("part").type
    assert [field.name for field in part] == ["name", "weights"]
    assert schema.field("parts").type == pa.map_(pa.string(), part)
    assert schema.field("maybe_part").nullable


def test_empty_table_has_the_schema() -> None:
    table = Part.to_table([])
    assert table.schema == Part.arrow_schema()
    assert Part.from_table(table) == []


def test_maps_are_sorted() -> None:
    forth, back = Part(name="p", weights={"a": 1.0, "b": 2.0}), Part(name="p", weights={"b": 2.0, "a": 1.0})
    assert Part.to_table([forth]).equals(Part.to_table([back]))


def test_unknown_columns_are_refused_and_new_fields_take_their_default() -> None:
    table = Part.to_table([Part(name="p")])
    with pytest.raises(ValidationError, match="colour"):
        Part.from_table(table.append_column("colour", pa.array(["red"])))
    assert Part.from_table(table.drop_columns(["weights"])) == [Part(name="p")]


def test_wrong_values_are_refused_on_reading() -> None:
    class Strict(Record):
        colour: Colour

    with pytest.raises(ValidationError, match="'red' or 'blue'"):
        Strict.from_table(pa.table({"colour": ["green"]}))


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    part = Part(name="p")
    with pytest.raises(ValidationError, match="frozen"):
        part.name = "q"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="extra"):
        Part.model_validate({"name": "p", "size": 1})


@pytest.mark.parametrize(
    "annotation", [int | str, set[int], dict[int, str], tuple[int, str], complex, Json | None]
)
def test_types_without_an_arrow_type_are_refused(annotation: Any) -> None:
    odd = create_model("odd", __base__=Record, field=(annotation, ...))
    with pytest.raises(TypeError, match="no Arrow type"):
        odd.arrow_schema()


@settings(deadline=None)
@given(JSON)
def test_canonical_json_reads_back(value: Any) -> None:
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def test_canonical_json_does_not_depend_on_order() -> None:
    assert canonical_json({"b": 1, "a": {"d": 1, "c": "ü"}}) == '{"a":{"c":"ü","d":1},"b":1}'
