"""`a and b` becomes `a or b`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class Boolean:
    """Join two conditions the other way."""

    name: ClassVar[str] = "boolean"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per `and` or `or`; in a chain each by itself."""
        for site, node in module.sites(ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from module.operator(site, left, right, old, new)
