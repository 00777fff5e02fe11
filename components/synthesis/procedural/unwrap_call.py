"""`list(xs)` becomes `xs`, `text.strip()` becomes `text`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message, parenthesised
from components.synthesis.source import ParsedModule

_TYPES = frozenset({"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})
_FUNCTIONS = _TYPES | {"abs", "copy", "deepcopy", "iter", "len", "reversed", "round", "sorted"}
_METHODS = frozenset({"copy", "strip", "lstrip", "rstrip", "lower", "upper", "title", "casefold", "items"})


class UnwrapCall:
    """Leave a conversion or a copy out."""

    name: ClassVar[str] = "unwrap_call"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per conversion of a single value, and per method that only cleans its object."""
        for site, call in module.sites(ast.Call):
            if in_message(site) or isinstance(site.parent and site.parent.node, ast.Expr):
                continue
            if isinstance(call.func, ast.Name) and call.func.id in _FUNCTIONS and len(call.args) == 1:
                argument = call.args[0]
                if not call.keywords and not isinstance(argument, ast.Starred):
                    yield module.replace(site, call, parenthesised(module, argument))
            elif isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and not call.args:
                dot = module.token(module.end(call.func.value), module.end(call.func), ".")
                if dot:
                    yield module.edit(site, dot[0], module.end(call), "")
