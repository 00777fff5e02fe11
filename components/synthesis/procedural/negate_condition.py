"""`if ready:` becomes `if not ready:`, `if a < b:` becomes `if a >= b:`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import negated
from components.synthesis.scope import Site
from components.synthesis.source import ParsedModule

_OPPOSITE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", ">="),
    ast.LtE: ("<=", ">"),
    ast.Gt: (">", "<="),
    ast.GtE: (">=", "<"),
}


class NegateCondition:
    """Take a branch exactly when it should not be taken."""

    name: ClassVar[str] = "negate_condition"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per condition. A lone `==`, `is` or `in` is left to `compare_flip`."""
        for site, test in _conditions(module):
            if isinstance(test, ast.Constant):  # `while True` would become a loop that never runs
                continue
            if isinstance(test, ast.Compare) and len(test.ops) == 1:
                if type(test.ops[0]) in _OPPOSITE:
                    swap = _OPPOSITE[type(test.ops[0])]
                    yield from module.operator(site, test.left, test.comparators[0], *swap)
                continue
            yield module.replace(site, test, negated(module, test))


def _conditions(module: ParsedModule) -> Iterator[tuple[Site, ast.expr]]:
    for site, branch in module.sites(ast.If):
        yield site, branch.test
    for site, loop in module.sites(ast.While):
        yield site, loop.test
    for site, choice in module.sites(ast.IfExp):
        yield site, choice.test
    for site, part in module.sites(ast.comprehension):
        yield from ((site, test) for test in part.ifs)
