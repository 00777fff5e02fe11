"""`return x` becomes `return None`, `return True` `return False`, and `return a, b` `return b, a`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import negated, shifted
from components.synthesis.source import ParsedModule


class ChangeReturn:
    """Return something else."""

    name: ClassVar[str] = "change_return"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per returned value."""
        for site, node in module.sites(ast.Return):
            if node.value is not None:
                text = _other(module, node.value)
                if text is not None:
                    yield module.replace(site, node.value, text)


def _other(module: ParsedModule, value: ast.expr) -> str | None:
    if isinstance(value, ast.Constant):
        if isinstance(value.value, bool):
            return str(not value.value)
        if isinstance(value.value, int):
            return shifted(module.text(value), 1)
        return None if value.value is None else "None"
    if isinstance(value, ast.Tuple) and len(value.elts) == 2:
        first, second = value.elts
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            outer, text = module.start(value), module.data
            parts = (
                text[outer : module.start(first)].decode(),
                module.text(second),
                text[module.end(first) : module.start(second)].decode(),
                module.text(first),
                text[module.end(second) : module.end(value)].decode(),
            )
            return "".join(parts)
    if isinstance(value, (ast.Compare, ast.BoolOp)) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    ):
        return negated(module, value)
    return "None"
