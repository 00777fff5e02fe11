"""Functions of a Python file: where each starts and ends."""

import ast
from dataclasses import dataclass
from functools import lru_cache

from components.grading.syntax import parse


@dataclass(frozen=True)
class Span:
    """One function or class. Lines count from 1; `start` includes decorators."""

    name: str
    """Qualified, e.g. `LRU.__getitem__`."""
    start: int
    body: int
    """First line of the first statement after the docstring."""
    end: int
    is_class: bool = False
    docstring: tuple[int, int] | None = None


@lru_cache(maxsize=256)
def spans(text: str) -> tuple[Span, ...]:
    """All functions and classes, outer before inner; empty if the text is not Python."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[Span] = []
    _walk(tree, "", found)
    return tuple(found)


_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""Where statements hold others. Expressions hold no functions with a name."""


def _walk(node: ast.AST, prefix: str, found: list[Span]) -> None:
    for child in (item for block in _BLOCKS for item in getattr(node, block, ())):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            _walk(child, prefix, found)
            continue
        name = f"{prefix}{child.name}"
        first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
        docstring, body = None, child.body[0].lineno
        if ast.get_docstring(child, clean=False) is not None:
            docstring = (child.body[0].lineno, child.body[0].end_lineno or child.body[0].lineno)
            body = child.body[1].lineno if len(child.body) > 1 else docstring[1] + 1
        found.append(
            Span(name, first, body, child.end_lineno or first, isinstance(child, ast.ClassDef), docstring)
        )
        _walk(child, f"{name}.", found)


def function_at(text: str, line: int) -> Span | None:
    """The innermost function that holds a line."""
    inside = [span for span in spans(text) if not span.is_class and span.start <= line <= span.end]
    return max(inside, key=lambda span: (span.start, -span.end), default=None)


def named(text: str, name: str) -> tuple[Span, ...]:
    """Spans of that qualified name, or else the ones whose name ends so when they are all the same."""
    every = spans(text)
    exact = tuple(span for span in every if span.name == name)
    if exact:
        return exact
    ending = tuple(span for span in every if span.name.endswith(f".{name}"))
    return ending if len({span.name for span in ending}) == 1 else ()


def local_name(name: str, path: str) -> str:
    """A dotted name without the part that names this module, e.g. `cacheutils.LRU.get`: `LRU.get`."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for start in range(len(module)):
        if (start == 0 or module[start - 1] == ".") and name.startswith(f"{module[start:]}."):
            return name.removeprefix(f"{module[start:]}.")
    return name
