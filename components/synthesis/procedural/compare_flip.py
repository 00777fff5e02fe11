"""`a == b` becomes `a != b`, `a < b` becomes `a > b`, `in` becomes `not in`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule

_FLIP: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", ">"),
    ast.LtE: ("<=", ">="),
    ast.Gt: (">", "<"),
    ast.GtE: (">=", "<="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}


class CompareFlip:
    """Turn a comparison round."""

    name: ClassVar[str] = "compare_flip"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per comparison operator."""
        for site, node in module.sites(ast.Compare):
            operands = [node.left, *node.comparators]
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
                yield from module.operator(site, left, right, *_FLIP[type(op)])
