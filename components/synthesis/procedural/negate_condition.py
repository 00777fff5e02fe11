"""`if ready:` becomes `if not ready:`, `if a < b:` becomes `if a >= b:`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import negated
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
        """One edit per condition; `==`, `is` and `in` alone are left to `compare_flip`, which does the same."""
        for site, node in module.sites(ast.If, ast.While, ast.IfExp, ast.comprehension):
            for test in node.ifs if isinstance(node, ast.comprehension) else [node.test]:
                if isinstance(test, ast.Constant):  # `while True` would become a loop that never runs
                    continue
                if isinstance(test, ast.Compare) and len(test.ops) == 1:
                    if type(test.ops[0]) in _OPPOSITE:
                        swap = _OPPOSITE[type(test.ops[0])]
                        yield from module.operator(site, test.left, test.comparators[0], *swap)
                    continue
                yield module.replace(site, test, negated(module, test))
