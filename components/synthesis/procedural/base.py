"""What a procedural rewriter is, and the few helpers that several of them share."""

import ast
import hashlib
from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol

from components.synthesis.edit import Edit
from components.synthesis.scope import FunctionNode, Site
from components.synthesis.source import ParsedModule

STRATEGY = "procedural"

# Operands that need no parentheses after `not`, before `+ 1` and the like.
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.JoinedStr)
_TIGHT = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, *_DISPLAYS)
_ARITHMETIC = (*_TIGHT, ast.UnaryOp)
_LOGGING = frozenset({"warn", "warning", "debug", "info", "error", "exception", "critical", "log", "print"})

_MAKES_SEQUENCE = frozenset(
    {"str", "repr", "bytes", "list", "tuple", "join", "format", "strip", "lower", "upper"}
)


class Rewriter(Protocol):
    """One way to put a bug into a function."""

    name: ClassVar[str]

    def spans(self, module: ParsedModule) -> Iterable[Edit]:
        """Every edit of this kind that the module allows."""
        ...


def pick(options: Sequence[str], *key: object) -> str:
    """One option, chosen by content: the same options and key give the same one on every machine."""
    return min(options, key=lambda option: hashlib.sha256(repr((*key, option)).encode()).digest())


def parenthesised(module: ParsedModule, node: ast.expr) -> str:
    """Source of an operand, in parentheses unless it binds tighter than arithmetic."""
    text = module.text(node)
    return text if isinstance(node, _ARITHMETIC) or _has_parentheses(node, text) else f"({text})"


def _has_parentheses(node: ast.expr, text: str) -> bool:
    """Whether they belong to the node itself, as those of a generator or of most tuples do."""
    return isinstance(node, (ast.GeneratorExp, ast.Tuple)) and text.startswith("(") and text.endswith(")")


def negated(module: ParsedModule, node: ast.expr) -> str:
    """Source of the opposite of a condition."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        text = module.text(node.operand)
        return f"({text})" if "\n" in text else text  # its own parentheses are not in its span
    text = module.text(node)
    simple = isinstance(node, _TIGHT) or (isinstance(node, ast.Compare) and len(node.ops) == 1)
    return f"not {text}" if simple else f"not ({text})"


def in_message(site: Site) -> bool:
    """Whether a node only words an error or a log line, which tests rarely read."""
    up: Site | None = site
    while up is not None and not isinstance(up.node, FunctionNode):
        if isinstance(up.node, ast.Raise) or (isinstance(up.node, ast.Call) and is_logging(up.node)):
            return True
        up = up.parent
    return False


def is_logging(call: ast.Call) -> bool:
    """Whether a call only tells somebody something."""
    return callee(call) in _LOGGING


def callee(node: ast.Call) -> str:
    """Last name of what is called: `self.items.append(x)` gives `append`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def is_condition(site: Site) -> bool:
    """Whether only the truth of a node matters."""
    parent = site.parent.node if site.parent else None
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)) and site.field == "test":
        return True
    if isinstance(parent, ast.comprehension) and site.field == "ifs":
        return True
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        return True
    return isinstance(parent, ast.BoolOp) and site.parent is not None and is_condition(site.parent)


def is_sequence(node: ast.expr) -> bool:
    """Whether an operand is text, a list or a tuple by the look of it."""
    if isinstance(node, ast.BinOp):  # 'a' + b + 'c'
        return is_sequence(node.left) or is_sequence(node.right)
    if isinstance(node, ast.Call):
        return callee(node) in _MAKES_SEQUENCE
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def is_integer(node: ast.AST | None) -> bool:
    """Whether a node is an integer literal, `True` and `False` apart."""
    return isinstance(node, ast.Constant) and type(node.value) is int


def shifted(text: str, by: int) -> str:
    """An integer literal moved by a step, in the base it was written in."""
    value = int(text, 0) + by
    form = {"0x": "#x", "0o": "#o", "0b": "#b"}.get(text[:2].lower(), "d")
    return format(value, form)
