"""`a if ok else b` becomes `b if ok else a`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class SwapTernary:
    """Choose the other value."""

    name: ClassVar[str] = "swap_ternary"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per conditional expression."""
        for site, node in module.sites(ast.IfExp):
            start, end = module.start(node.body), module.end(node.orelse)
            between = module.data[module.end(node.body) : module.start(node.orelse)].decode()
            last = module.text(node.orelse)
            if isinstance(node.orelse, (ast.IfExp, ast.Lambda)):  # binds more loosely than its new place
                last = f"({last})"
            yield module.edit(site, start, end, last + between + module.text(node.body))
