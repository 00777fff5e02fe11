"""`Record`: a frozen pydantic model whose Arrow schema is derived from its annotations.

Mapping: `str`, `StrEnum` and `Literal` become string; `int` int64; `float` float64; `bool` bool;
`bytes` binary; `datetime` timestamp[us, UTC]; `tuple[T, ...]` list; `dict[str, T]` map; a nested record
struct; `T | None` is nullable. A field annotated `Json` holds any JSON value and is stored as text, since
Arrow would fill the keys that rows do not share with nulls (datasets 5.2 does; see docs).
"""

import json
import types
from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, JsonValue


class JsonText:
    """Marker: store the value as JSON text."""


Json = Annotated[JsonValue, JsonText()]

_SCALARS: dict[type, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    bytes: pa.binary(),
    datetime: pa.timestamp("us", tz="UTC"),
}


class Record(BaseModel):
    """One immutable row. Unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    is_evidence: ClassVar[bool] = False
    """True: holds what differs between two equal runs (seconds), so no digest of a dataset covers it."""

    @classmethod
    def arrow_schema(cls) -> pa.Schema:
        """The Arrow schema of a table of these records."""
        return pa.schema(_fields(cls))

    @classmethod
    def to_table(cls, rows: Iterable[Self]) -> pa.Table:
        """A table with one row per record, in order."""
        return pa.Table.from_pylist([_encode_record(row) for row in rows], schema=cls.arrow_schema())

    @classmethod
    def from_table(cls, table: pa.Table) -> list[Self]:
        """The records of a table, validated."""
        return [cls.model_validate(_decode_record(cls, row)) for row in table.to_pylist()]


def canonical_json(value: JsonValue) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _fields(cls: type[Record]) -> "list[pa.Field[Any]]":
    out: list[pa.Field[Any]] = []
    for name, info in cls.model_fields.items():
        if any(isinstance(mark, JsonText) for mark in info.metadata):
            out.append(pa.field(name, pa.string(), nullable=True))
        else:
            out.append(pa.field(name, _arrow_type(info.annotation), nullable=_optional(info.annotation)[1]))
    return out


def _optional(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        if len(inner) != 1:
            raise TypeError(f"{annotation}: a union of several types has no Arrow type; use Json")
        return inner[0], True
    return annotation, False


def _is_json(annotation: Any) -> bool:
    return get_origin(annotation) is Annotated and any(isinstance(a, JsonText) for a in get_args(annotation))


def _arrow_type(annotation: Any) -> pa.DataType:
    if _is_json(annotation):
        return pa.string()
    annotation, _ = _optional(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is tuple and len(args) == 2 and args[1] is Ellipsis:
        return pa.list_(_arrow_type(args[0]))
    if origin is dict and args[0] is str:
        return pa.map_(pa.string(), _arrow_type(args[1]))
    if origin is Literal:
        return pa.string()
    if isinstance(annotation, type):
        if issubclass(annotation, Record):
            return pa.struct(_fields(annotation))
        if issubclass(annotation, StrEnum):
            return pa.string()
        if annotation in _SCALARS:
            return _SCALARS[annotation]
    raise TypeError(f"{annotation}: no Arrow type; see components.records.base")


def _encode_record(row: Record) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, info in type(row).model_fields.items():
        value = getattr(row, name)
        is_json = any(isinstance(mark, JsonText) for mark in info.metadata)
        out[name] = canonical_json(value) if is_json else _encode(value, info.annotation)
    return out


def _encode(value: Any, annotation: Any) -> Any:
    if _is_json(annotation):
        return canonical_json(value)
    if value is None:
        return None
    annotation, _ = _optional(annotation)
    args = get_args(annotation)
    if isinstance(value, Record):
        return _encode_record(value)
    if isinstance(value, tuple):
        return [_encode(item, args[0]) for item in value]
    if isinstance(value, dict):
        # Sorted, so that equal records give equal bytes.
        return [(key, _encode(value[key], args[1])) for key in sorted(value)]
    return value


def _decode_record(cls: type[Record], row: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        info = cls.model_fields.get(name)
        if info is None:
            out[name] = value  # pydantic names the unknown field
        elif any(isinstance(mark, JsonText) for mark in info.metadata):
            out[name] = None if value is None else json.loads(value)
        else:
            out[name] = _decode(value, info.annotation)
    return out


def _decode(value: Any, annotation: Any) -> Any:
    if value is None:
        return None
    if _is_json(annotation):
        return json.loads(value)
    annotation, _ = _optional(annotation)
    origin, args = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return _decode_record(annotation, value)
    if origin is tuple:
        return [_decode(item, args[0]) for item in value]
    if origin is dict:
        return {key: _decode(item, args[1]) for key, item in dict(value).items()}
    return value
