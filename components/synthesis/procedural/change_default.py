"""`def f(strict=True)` becomes `def f(strict=False)`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import shifted
from components.synthesis.source import ParsedModule


class ChangeDefault:
    """Give a parameter another default."""

    name: ClassVar[str] = "change_default"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per literal default."""
        for site, _ in module.sites(ast.FunctionDef, ast.AsyncFunctionDef):
            spec = site.function.node.args
            for value in (*spec.defaults, *spec.kw_defaults):
                text = _other(value, module) if value else None
                if value and text is not None:
                    yield module.replace(site, value, text)


def _other(node: ast.expr, module: ParsedModule) -> str | None:
    if isinstance(node, ast.Tuple) and not node.elts:
        return "None"
    if not isinstance(node, ast.Constant):
        return None
    value, text = node.value, module.text(node)
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return shifted(text, 1)
    if isinstance(value, float):
        return repr(value + 1.0)
    if isinstance(value, (str, bytes)):
        return "None"
    return "False" if value is None else None
