"""`8` becomes `9`, `True` becomes `False`, `0.5` becomes `1.5`."""

import ast
import math
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message, shifted
from components.synthesis.scope import Site
from components.synthesis.source import ParsedModule


class Constant:
    """Change the value of a number or a truth value."""

    name: ClassVar[str] = "constant"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One or two edits per literal; indices, `range` and `return True` belong to other rewriters."""
        for site, node in module.sites(ast.Constant):
            if _elsewhere(site) or in_message(site):
                continue
            for text in _others(node.value, module.text(node)):
                yield module.replace(site, node, text)


def _others(value: object, text: str) -> tuple[str, ...]:
    if isinstance(value, bool):
        return (str(not value),)
    if isinstance(value, int):
        return (shifted(text, 1), shifted(text, -1)) if value > 0 else (shifted(text, 1),)
    if isinstance(value, float) and math.isfinite(value):
        return (repr(value + 1.0),)
    return ()


def _elsewhere(site: Site) -> bool:
    parent = site.parent.node if site.parent else None
    if isinstance(parent, ast.Return):
        return True
    if isinstance(parent, ast.UnaryOp) and site.parent is not None:  # the 1 of `items[-1]`
        site = site.parent
        parent = site.parent.node if site.parent else None
    if isinstance(parent, ast.Slice) or (isinstance(parent, ast.Subscript) and site.field == "slice"):
        return True
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id == "range"
