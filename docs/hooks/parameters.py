"""Fills in `parameters.md`: every key of `params.yaml`, from the pydantic models that read it.

`PYTHONPATH=. python docs/hooks/parameters.py` prints the tables.
"""

import ast
import inspect
import sys
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- parameters -->"


@dataclass(frozen=True)
class Row:
    """One key."""

    key: str
    type: str
    default: str
    description: str


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by mkdocs for each page."""
    return markdown.replace(MARK, parameters_markdown()) if MARK in markdown else markdown


def parameters_markdown() -> str:
    """The tables of all keys, section by section."""
    params = _params()
    sections: list[str] = []
    top = [row for row in rows(params) if "." not in row.key and row.key not in _sections(params)]
    sections.append(f"## Top level\n\n{_table(top)}")
    for name, model in _sections(params).items():
        intro = inspect.getdoc(model) or ""
        used = _shared().get(name)
        if used:
            intro += f"\n\nThe default of the same key in: {', '.join(f'`{stage}`' for stage in used)}."
        sections.append(f"## {name}\n\n{intro}\n\n{_table(rows(model, f'{name}.'))}")
    for kind in _model_kinds():
        intro = (inspect.getdoc(kind) or "").partition("\n")[0]
        name = kind.model_fields["kind"].default
        sections.append(f"## Model: {name}\n\n{intro}\n\n{_table(rows(kind, 'model.'))}")
    return "\n\n".join(sections) + "\n"


def rows(model: type[BaseModel], prefix: str = "") -> Iterator[Row]:
    """One row per key of a model; the keys of models inside it follow with a dotted name."""
    docs = attribute_docs(model)
    for name, info in model.model_fields.items():
        key = f"{prefix}{name}"
        inner, item = _inner(info.annotation)
        text = " ".join((info.description or docs.get(name, "")).split())
        if key == "model.kind":
            text = "Says which of the kinds of model it is."
        if not prefix and name in _sections(model):
            continue
        if prefix.count(".") == 1 and name in _shared() and prefix.rstrip(".") in _shared()[name]:
            text = text or f"Default: the top-level `{name}`."
            yield Row(key, _link(info), _default(key, info), text)
            continue
        extra = info.json_schema_extra
        if isinstance(extra, dict) and extra.get("affects_output") is False:
            text = f"{text.rstrip('.')}. Not part of the stage's key."
        if inner is None:
            yield Row(key, _type(info.annotation, info), _default(key, info), text)
            continue
        text = text or (inspect.getdoc(inner) or "").partition("\n")[0]
        yield Row(key, "list of" if item else "group", _default(key, info) if item else "", text)
        yield from rows(inner, f"{key}[]." if item else f"{key}.")


@cache
def attribute_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """Strings under the attributes of a class and of those it inherits from."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if not (isinstance(cls, type) and issubclass(cls, BaseModel)) or cls is BaseModel:
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, after in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                found[statement.target.id] = after.value.value
    return found


def _params() -> type[BaseModel]:
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from components.params import Params

    return Params


def _shared() -> Mapping[str, tuple[str, ...]]:
    from components.params import _SHARED

    return _SHARED


def _model_kinds() -> tuple[type[BaseModel], ...]:
    from components.agents.models import config

    return config.OracleConfig, config.LocalConfig, config.OpenAIConfig, config.ScriptedConfig


def _sections(params: type[BaseModel]) -> dict[str, type[BaseModel]]:
    found = {name: _inner(info.annotation)[0] for name, info in params.model_fields.items()}
    return {name: model for name, model in found.items() if model is not None}


def _inner(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model that a key holds, and whether it holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    if get_origin(annotation) is tuple:
        return _inner(get_args(annotation)[0])[0], True
    return None, False


def _link(info: FieldInfo) -> str:
    inner, _ = _inner(info.annotation)
    return "group" if inner is not None else _type(info.annotation, info)


def _type(annotation: Any, info: FieldInfo | None = None) -> str:
    origin, args = get_origin(annotation), get_args(annotation)
    if info is not None and info.discriminator:
        return "a model, see `model.kind`"
    if origin is Annotated:
        return _type(args[0])
    if origin in (Union, types.UnionType):
        if all(isinstance(arg, type) and issubclass(arg, BaseModel) for arg in args):
            return "a model, see `model.kind`"
        return " or ".join("null" if arg is type(None) else _type(arg) for arg in args)
    if origin is Literal:
        return ", ".join(f"`{arg}`" for arg in args)
    if origin is tuple:
        many = len(args) == 2 and args[1] is Ellipsis
        return f"list of: {_type(args[0])}" if many else f"[{', '.join(_type(arg) for arg in args)}]"
    if origin is dict:
        return f"{_type(args[0])} to {_type(args[1])}"
    return getattr(annotation, "__name__", str(annotation)) + _bounds(info)


def _bounds(info: FieldInfo | None) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    found = [
        f"{sign} {getattr(mark, name)}"
        for mark in (info.metadata if info else ())
        for name, sign in signs.items()
        if getattr(mark, name, None) is not None
    ]
    return f", {', '.join(found)}" if found else ""


def _default(key: str, info: FieldInfo) -> str:
    if info.is_required():
        text = "required"
    elif info.default_factory is not None:
        text = "computed" if "[]" in key else _value({})
    else:
        text = _value(info.default)
    told, there = _in_file(key)
    if there and told != info.default and not isinstance(told, dict | list):
        text += f"; `params.yaml`: {_value(told)}"
    return text


def _value(value: object) -> str:
    if isinstance(value, BaseModel):
        kind = getattr(value, "kind", None)
        return f"`{kind}`" if kind else ""
    if isinstance(value, tuple | list):
        return "`[" + ", ".join(str(item) for item in value) + "]`"
    if value is None:
        return "`null`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return '`""`' if value == "" else f"`{value}`"


@cache
def _file() -> Any:
    return yaml.safe_load((ROOT / "params.yaml").read_text())


def _in_file(key: str) -> tuple[object, bool]:
    at = _file()
    for part in key.split("."):
        if not isinstance(at, dict) or part not in at:
            return None, False
        at = at[part]
    return at, True


def _table(found: Iterable[Row]) -> str:
    lines = ["| key | type | default | what it does |", "|---|---|---|---|"]
    lines += [
        f"| `{row.key}` | {_cell(row.type)} | {_cell(row.default)} | {_cell(row.description)} |"
        for row in found
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;") if "`" not in text else text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(parameters_markdown())
