"""`if x is None` becomes `if not x`, and `if x` becomes `if x is not None`: wrong for empty and zero."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_condition
from components.synthesis.scope import Site
from components.synthesis.source import ParsedModule

_SIMPLE = (ast.Name, ast.Attribute, ast.Subscript)


class Truthiness:
    """Mistake emptiness for absence."""

    name: ClassVar[str] = "truthiness"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per condition on a plain name, attribute or item."""
        for site, node in module.sites(ast.Compare):
            if not is_condition(site) or len(node.ops) != 1 or not isinstance(node.left, _SIMPLE):
                continue
            right = node.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                text = module.text(node.left)
                if isinstance(node.ops[0], ast.IsNot):
                    yield module.replace(site, node, text)
                elif isinstance(node.ops[0], ast.Is):
                    yield module.replace(site, node, f"not {text}")
        for site, simple in module.sites(*_SIMPLE):
            if is_condition(site):
                yield from self._absent(module, site, simple)

    @staticmethod
    def _absent(module: ParsedModule, site: Site, node: ast.expr) -> Iterator[Edit]:
        parent = site.parent.node if site.parent else None
        text = module.text(node)
        if isinstance(parent, ast.UnaryOp):
            if module.text(parent) == f"not {text}":
                yield module.replace(site, parent, f"{text} is None")
        else:
            yield module.replace(site, node, f"{text} is not None")
