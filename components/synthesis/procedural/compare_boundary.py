"""`a < b` becomes `a <= b`: wrong only where both are equal."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule

_BOUNDARY: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}


class CompareBoundary:
    """Let a comparison include or leave out its boundary."""

    name: ClassVar[str] = "compare_boundary"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per order comparison."""
        for site, node in module.sites(ast.Compare):
            operands = [node.left, *node.comparators]
            for op, left, right in zip(node.ops, operands, operands[1:], strict=False):
                if type(op) in _BOUNDARY:
                    yield from module.operator(site, left, right, *_BOUNDARY[type(op)])
