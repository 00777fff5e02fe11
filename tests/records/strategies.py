"""Hypothesis strategies for records, derived from their annotations as their Arrow schemas are."""

import types
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from hypothesis import strategies as st

from components.records.base import JsonText, Record

R = TypeVar("R", bound=Record)

_INT64 = st.integers(-(2**63), 2**63 - 1)

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)

_SCALARS: dict[type, st.SearchStrategy[Any]] = {
    str: st.text(max_size=12),
    int: _INT64,
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
    datetime: st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
}


def records(cls: type[R]) -> st.SearchStrategy[R]:
    """Any instance of a record."""
    fields = {}
    for name, info in cls.model_fields.items():
        is_json = any(isinstance(mark, JsonText) for mark in info.metadata)
        fields[name] = JSON if is_json else _values(info.annotation)
    return st.builds(cls, **fields)


def _values(annotation: Any) -> st.SearchStrategy[Any]:
    origin, args = get_origin(annotation), get_args(annotation)
    if any(isinstance(arg, JsonText) for arg in args):
        return JSON
    if origin in (Union, types.UnionType):
        return st.one_of([_values(arg) for arg in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple:
        return st.lists(_values(args[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=6), _values(args[1]), max_size=3)
    if annotation is type(None):
        return st.none()
    if issubclass(annotation, Record):
        return records(annotation)
    if issubclass(annotation, StrEnum):
        return st.sampled_from(list(annotation))
    return _SCALARS[annotation]
