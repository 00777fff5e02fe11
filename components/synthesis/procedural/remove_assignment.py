"""`total = 0` goes."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class RemoveAssignment:
    """Forget to set or to update something."""

    name: ClassVar[str] = "remove_assignment"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per assignment; a sole statement of its block becomes `pass`."""
        for site, node in module.sites(ast.Assign, ast.AugAssign, ast.AnnAssign):
            if isinstance(node, ast.AnnAssign) and node.value is None:
                continue
            parent = site.parent.node if site.parent else None
            sole = isinstance(parent, ast.If) and len(getattr(parent, site.field)) == 1
            if not sole:  # the same text as `remove_branch` gives
                yield module.delete(site, node)
