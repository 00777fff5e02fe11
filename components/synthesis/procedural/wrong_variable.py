"""`left` becomes `right`: another variable of the same function that is already set."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message, pick
from components.synthesis.scope import Function
from components.synthesis.source import ParsedModule

_OWN_SCOPE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda, ast.ClassDef)
_IMPLICIT = frozenset({"self", "cls", "_", "__class__"})


class WrongVariable:
    """Use the variable next to the right one."""

    name: ClassVar[str] = "wrong_variable"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per use of a local variable that another one could stand in for."""
        bound = _bindings(module)
        for site, node in module.sites(ast.Name):
            names = bound[site.function]
            called = isinstance(site.parent and site.parent.node, ast.Call) and site.field == "func"
            if not isinstance(node.ctx, ast.Load) or node.id not in names or called or in_message(site):
                continue
            before = module.line_starts[node.lineno - 1]
            others = [name for name, first in names.items() if first < before and name != node.id]
            if others:
                yield module.replace(site, node, pick(others, site.function.qualname, node.id, node.lineno))


def _bindings(module: ParsedModule) -> dict[Function, dict[str, int]]:
    """Function -> its own variables -> where each is first set; parameters from the beginning."""
    bound: dict[Function, dict[str, int]] = defaultdict(dict)
    for function in module.functions:
        bound[function] = {name: -1 for name in function.parameters if name not in _IMPLICIT}
    for site, node in module.sites(ast.Name):
        if isinstance(node.ctx, ast.Store) and node.id not in _IMPLICIT and not site.within(*_OWN_SCOPE):
            first = bound[site.function].get(node.id, len(module.data))
            bound[site.function][node.id] = min(first, module.start(node))
    return bound
