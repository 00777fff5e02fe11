"""`a - b` becomes `b - a`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_sequence, parenthesised
from components.synthesis.source import ParsedModule

_ORDERED: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
}


class SwapOperands:
    """Compute or join the wrong way round."""

    name: ClassVar[str] = "swap_operands"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per operator whose order may matter."""
        for site, node in module.sites(ast.BinOp):
            if type(node.op) not in _ORDERED:
                continue
            if isinstance(node.op, ast.Add) and not (is_sequence(node.left) or is_sequence(node.right)):
                continue  # most likely numbers
            if isinstance(node.op, ast.Mod) and isinstance(node.left, (ast.Constant, ast.JoinedStr)):
                continue  # text formatting
            start, end = module.start(node), module.end(node)
            token = module.token(module.end(node.left), module.start(node.right), _ORDERED[type(node.op)])
            if token is None:
                continue
            left, right = module.data[start : token[0]].decode(), module.data[token[1] : end].decode()
            first, second = left.rstrip(), right.lstrip()
            between = left[len(first) :] + _ORDERED[type(node.op)] + right[: len(right) - len(second)]
            # An operand that begins after, or ends before, its operator does has parentheses of its own.
            if module.start(node.left) == start:
                first = parenthesised(module, node.left)
            if module.end(node.right) == end:
                second = parenthesised(module, node.right)
            if first != second:
                yield module.edit(site, start, end, second + between + first)
