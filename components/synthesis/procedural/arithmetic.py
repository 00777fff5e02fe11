"""`a + b` becomes `a - b`, `a // b` becomes `a / b`, `a & b` becomes `a | b`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_sequence
from components.synthesis.source import ParsedModule

_OTHER: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("+", "//")),
    ast.Div: ("/", ("*", "//")),
    ast.FloorDiv: ("//", ("/", "%")),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitXor: ("^", ("&",)),
}


class Arithmetic:
    """Compute with another operator."""

    name: ClassVar[str] = "arithmetic"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One or two edits per binary operator; none on text and lists, where the result would only crash."""
        for site, node in module.sites(ast.BinOp):
            if type(node.op) not in _OTHER or is_sequence(node.left) or is_sequence(node.right):
                continue
            old, others = _OTHER[type(node.op)]
            for new in others:
                yield from module.operator(site, node.left, node.right, old, new)
