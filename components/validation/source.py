"""What a Python file looks like from its syntax tree: functions, headers, statements, public names."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

MODULE = "<module>"

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """The tree of a text; not to be changed."""
    return ast.parse(text)


@dataclass(frozen=True)
class FunctionSpan:
    """One function or method. Lines count from 1, both ends included."""

    qualname: str
    name: str
    start: int
    """First line, decorators included."""
    definition: int
    """Line of `def`."""
    body: int
    """First line of the body."""
    end: int
    outermost: bool
    """No other function holds it."""


class SourceFile:
    """The syntax tree of one file, parsed once, and the questions that validation asks it."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.tree = ast.parse(text)
        self.line_count = max(1, len(text.splitlines()))

    @cached_property
    def functions(self) -> tuple[FunctionSpan, ...]:
        """Every function of the file, outer ones before inner ones."""
        return tuple(_functions(self.tree, "", False))

    def outermost(self, line: int) -> str:
        """Qualified name of the outermost function that holds a line, or `<module>`.

        A nested function is part of its parent's text, so both must land on one side of a split.
        """
        for function in self.functions:
            if function.outermost and function.start <= line <= function.end:
                return function.qualname
        return MODULE

    def qualname(self, line: int, name: str) -> str:
        """Qualified name of the innermost function of a name (as in a traceback) that holds a line."""
        held = [f.qualname for f in self.functions if f.name == name and f.start <= line <= f.end]
        return held[-1] if held else name

    def influence(self, lines: Iterable[int]) -> frozenset[int]:
        """The lines whose execution shows that a change of `lines` can have had an effect.

        A coverage map knows the first line of a statement, not all; a default or a decorator takes effect
        when the function is called; a change at module or class level can be felt anywhere in the file.
        """
        found: set[int] = set()
        for line in lines:
            found |= self._influence(line)
        return frozenset(found)

    def statements(self, lines: Iterable[int]) -> frozenset[int]:
        """All lines of the statements in function bodies that hold `lines`; of compound ones the header."""
        bodies = [line for line in lines if any(f.body <= line <= f.end for f in self.functions)]
        return frozenset(number for line in bodies for number in (line, *self._statement(line)))

    def _influence(self, line: int) -> set[int]:
        inner = [f for f in self.functions if f.start <= line <= f.end]
        if not inner:
            return set(range(1, self.line_count + 1))
        function = max(inner, key=lambda f: (f.start, -f.end))
        if line < function.body:
            return set(range(function.start, function.end + 1))
        return {line} | set(self._statement(line))

    def _statement(self, line: int) -> range:
        return self._by_line.get(line, range(line, line + 1))

    @cached_property
    def _by_line(self) -> dict[int, range]:
        """Line -> lines of its innermost statement."""
        found: dict[int, range] = {}
        for node in ast.walk(self.tree):  # outer ones first, so that inner ones win
            if isinstance(node, ast.stmt) and not isinstance(node, _Scope):
                end = node.end_lineno or node.lineno
                body = getattr(node, "body", None)
                if body:
                    # Of a compound statement only the header: its body has statements of its own.
                    end = max(node.lineno, body[0].lineno - 1)
                lines = range(node.lineno, end + 1)
                found.update(dict.fromkeys(lines, lines))
        return found

    @cached_property
    def public(self) -> frozenset[str]:
        """Names that a user of the module may know: public functions, classes, methods, their parameters."""
        return frozenset(_public(self.tree))


def _functions(node: ast.AST, prefix: str, inside: bool) -> Iterator[FunctionSpan]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            qualname = f"{prefix}{child.name}"
            start = min([child.lineno, *(d.lineno for d in child.decorator_list)])
            end = child.end_lineno or child.lineno
            yield FunctionSpan(
                qualname, child.name, start, child.lineno, child.body[0].lineno, end, not inside
            )
            yield from _functions(child, f"{qualname}.", True)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", inside)
        else:
            yield from _functions(child, prefix, inside)


def _public(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Scope):
            dunder = child.name.startswith("__") and child.name.endswith("__")
            if child.name.startswith("_") and not dunder:
                continue
            yield child.name
            if isinstance(child, ast.ClassDef):
                yield from _public(child)
            else:
                spec = child.args
                for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
                    yield arg.arg
        elif isinstance(child, ast.Assign):
            for target in child.targets:
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    yield target.id
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from _public(child)
