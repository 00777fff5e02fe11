"""`range(n)` becomes `range(n - 1)`, `items[1:]` becomes `items[2:]`, `items[0]` becomes `items[1]`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import is_integer, parenthesised, shifted
from components.synthesis.source import ParsedModule


class OffByOne:
    """Begin or end one too early or too late."""

    name: ClassVar[str] = "off_by_one"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """Up to two edits per bound of a `range`, bound of a slice, or literal index."""
        for site, call in module.sites(ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id == "range" and not call.keywords:
                for bound in call.args[:2]:
                    if not isinstance(bound, ast.Starred):
                        yield from (module.replace(site, bound, text) for text in _near(module, bound))
        for site, cut in module.sites(ast.Slice):
            for limit in (cut.lower, cut.upper):
                if limit is not None and not _is_none(limit):
                    yield from (module.replace(site, limit, text) for text in _near(module, limit))
        for site, item in module.sites(ast.Subscript):
            if _is_literal_index(item.slice):
                yield from (module.replace(site, item.slice, text) for text in _near(module, item.slice))


def _near(module: ParsedModule, node: ast.expr) -> tuple[str, ...]:
    """The bound moved by one, each way where that makes sense."""
    text = module.text(node)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return (shifted(text, 1), shifted(text, -1)) if node.value > 0 else (shifted(text, 1),)
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        value = node.operand.value
        if type(value) is int:
            return (f"-{value + 1}", f"-{value - 1}") if value > 1 else (f"-{value + 1}",)
    if _is_step(node):
        assert isinstance(node, ast.BinOp)
        return (module.text(node.left),)  # `n - 1` for `n`: what people forget
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        text = f"({text})"
    elif not isinstance(node, ast.BinOp):
        text = parenthesised(module, node)
    return (f"{text} - 1", f"{text} + 1")


def _is_literal_index(node: ast.expr) -> bool:
    minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and is_integer(node.operand)
    return is_integer(node) or minus or _is_step(node)


def _is_step(node: ast.expr) -> bool:
    """`n + 1` or `n - 1`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Add, ast.Sub))
        and isinstance(node.right, ast.Constant)
        and node.right.value == 1
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
