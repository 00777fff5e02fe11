"""`self._shrink()` as a statement goes."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_logging
from components.synthesis.source import ParsedModule


class RemoveCall:
    """Forget to do something."""

    name: ClassVar[str] = "remove_call"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per call whose result nobody reads."""
        for site, node in module.sites(ast.Expr):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            parent = site.parent.node if site.parent else None
            sole = isinstance(parent, ast.If) and len(getattr(parent, site.field)) == 1
            if isinstance(call, ast.Call) and not sole and not is_logging(call):
                yield module.delete(site, node)
