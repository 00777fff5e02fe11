"""`n += 1` becomes `n -= 1` or `n = 1`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_sequence
from components.synthesis.source import ParsedModule

_OTHER: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+=", ("-=", "=")),
    ast.Sub: ("-=", ("+=", "=")),
    ast.Mult: ("*=", ("+=", "=")),
    ast.Div: ("/=", ("*=", "//=")),
    ast.FloorDiv: ("//=", ("/=", "%=")),
    ast.Mod: ("%=", ("//=", "=")),
    ast.Pow: ("**=", ("*=",)),
    ast.LShift: ("<<=", (">>=",)),
    ast.RShift: (">>=", ("<<=",)),
    ast.BitAnd: ("&=", ("|=", "=")),
    ast.BitOr: ("|=", ("&=", "=")),
    ast.BitXor: ("^=", ("&=", "|=")),
}


class AugmentedAssign:
    """Update a variable by another operator, or overwrite it."""

    name: ClassVar[str] = "augmented_assign"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """Up to two edits per augmented assignment."""
        for site, node in module.sites(ast.AugAssign):
            old, others = _OTHER.get(type(node.op), ("", ()))
            for new in others:
                if new != "=" and is_sequence(node.value):
                    continue
                yield from module.operator(site, node.target, node.value, old, new)
