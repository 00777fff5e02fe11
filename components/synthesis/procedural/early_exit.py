"""A `return`, `break`, `continue` or `raise` inside a block becomes `pass`; `break` becomes `continue`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class EarlyExit:
    """Miss the way out."""

    name: ClassVar[str] = "early_exit"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One or two edits per exit that is not the function's last word."""
        for site, node in module.sites(ast.Return, ast.Break, ast.Continue, ast.Raise):
            top = site.parent is not None and isinstance(
                site.parent.node, (ast.FunctionDef, ast.AsyncFunctionDef)
            )
            if top or (isinstance(node, ast.Raise) and site.within(ast.ExceptHandler)):
                continue  # `change_return` and `swallow_exception`
            yield module.replace(site, node, "pass")
            if isinstance(node, ast.Break):
                yield module.replace(site, node, "continue")
            elif isinstance(node, ast.Continue):
                yield module.replace(site, node, "break")
