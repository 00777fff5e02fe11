"""`while rest:` becomes `if rest:`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class WhileToIf:
    """Do once what has to be repeated."""

    name: ClassVar[str] = "while_to_if"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per loop that neither breaks nor continues (an `if` cannot)."""
        for site, node in module.sites(ast.While):
            jumps = any(isinstance(inner, (ast.Break, ast.Continue)) for inner in ast.walk(node))
            if not jumps and not node.orelse:
                start = module.start(node)
                yield module.edit(site, start, start + len("while"), "if")
