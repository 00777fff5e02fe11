"""`self.left` becomes `self.right`: another attribute that the class sets."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message, pick
from components.synthesis.scope import Site
from components.synthesis.source import ParsedModule


class WrongAttribute:
    """Read the attribute next to the right one."""

    name: ClassVar[str] = "wrong_attribute"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per read of `self.<data>` in a class with more than one such attribute."""
        stored: dict[str, set[str]] = defaultdict(set)
        reads = []
        for site, node in module.sites(ast.Attribute):
            if not isinstance(node.value, ast.Name) or node.value.id != "self":
                continue
            if isinstance(node.ctx, ast.Store):
                stored[_owner(site)].add(node.attr)
            elif isinstance(node.ctx, ast.Load) and site.field != "func" and not in_message(site):
                reads.append((site, node))
        for site, node in reads:
            names = stored[_owner(site)]
            others = sorted(names - {node.attr})
            if node.attr in names and others:
                end = module.end(node)
                text = pick(others, site.function.qualname, node.attr, node.lineno)
                yield module.edit(site, end - len(node.attr.encode()), end, text)


def _owner(site: Site) -> str:
    """Qualified name of the class of a method."""
    return (site.function.outermost or site.function).qualname.rpartition(".")[0]
