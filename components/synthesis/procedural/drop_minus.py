"""`-x` becomes `x`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class DropMinus:
    """Lose a sign or a complement."""

    name: ClassVar[str] = "drop_minus"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per unary minus or `~`."""
        for site, node in module.sites(ast.UnaryOp):
            if isinstance(node.op, (ast.USub, ast.Invert)):
                start = module.start(node)
                yield module.edit(site, start, start + 1, "")
