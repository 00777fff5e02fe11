"""From the lines that a tracer reports to the lines that were executed.

A tracer reports where bytecode starts a line: not every line of a statement that spans several, and never
the head of a function, which runs when its module is imported. For choosing the tests of a change, a
statement is executed as a whole, and the head of a function (decorators, defaults) belongs to whatever runs
its body.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class LineMap:
    """The statements of one file, by line."""

    groups: dict[int, range]
    """Line -> all lines of the statement (or of the head of the compound statement) that it is part of."""
    heads: tuple[tuple[range, range], ...]
    """(lines of the body, lines of the head) of every function."""

    @classmethod
    def of(cls, source: bytes) -> "LineMap":
        """The map of a file; empty when it does not parse."""
        try:
            module = ast.parse(source)
        except (SyntaxError, ValueError):
            return cls({}, ())
        groups: dict[int, range] = {}
        heads = []
        # Breadth first, so that the innermost statement of a line wins.
        for node in ast.walk(module):
            if isinstance(node, _Function):
                body = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
                heads.append((body, range(first, max(node.lineno + 1, body.start))))
            elif isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(node, ast.ClassDef):
                lines = _own_lines(node)
                groups.update(dict.fromkeys(lines, lines))
        return cls(groups, tuple(heads))

    def expand(self, lines: Iterable[int]) -> tuple[int, ...]:
        """All lines that were executed when a tracer has reported these."""
        reported = set(lines)
        found = set(reported)
        for line in reported:
            found.update(self.groups.get(line, ()))
        for body, head in self.heads:
            if any(line in body for line in reported):
                found.update(head)
        return tuple(sorted(found))


def _own_lines(node: ast.stmt | ast.ExceptHandler) -> range:
    """The lines of a statement without those of the statements inside it."""
    end = (node.end_lineno or node.lineno) + 1
    inner = [child.lineno for child in _children(node)]
    return range(node.lineno, max(node.lineno + 1, min([end, *inner])))


def _children(node: ast.AST) -> Iterable[ast.stmt | ast.ExceptHandler]:
    for field in ("body", "orelse", "handlers", "finalbody"):
        children = getattr(node, field, None)
        yield from children if isinstance(children, list) else ()
    for case in getattr(node, "cases", ()):
        yield from case.body
