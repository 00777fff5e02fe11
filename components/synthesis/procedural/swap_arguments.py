"""`f(a, b)` becomes `f(b, a)`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.equivalence import COMMUTATIVE_CALLS
from components.synthesis.procedural.base import callee, in_message
from components.synthesis.source import ParsedModule

# Turned round, these raise TypeError on the first call: no bug worth finding.
_CRASH = frozenset(
    {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "delattr", "enumerate", "map", "filter"}
)


class SwapArguments:
    """Pass two neighbouring arguments in the wrong order."""

    name: ClassVar[str] = "swap_arguments"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per neighbouring pair of positional arguments."""
        for site, call in module.sites(ast.Call):
            if callee(call) in _CRASH or callee(call) in COMMUTATIVE_CALLS or in_message(site):
                continue
            for left, right in zip(call.args, call.args[1:], strict=False):
                if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
                    continue
                start, end = module.start(left), module.end(right)
                between = module.data[module.end(left) : module.start(right)].decode()
                first, second = module.text(left), module.text(right)
                if first != second:
                    yield module.edit(site, start, end, second + between + first)
