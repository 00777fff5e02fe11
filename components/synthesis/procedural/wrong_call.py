"""`min(xs)` becomes `max(xs)`, `xs.append(x)` becomes `xs.extend(x)`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule

_PAIRS = (
    ("min", "max"),
    ("any", "all"),
    ("floor", "ceil"),
    ("append", "extend"),
    ("startswith", "endswith"),
    ("lstrip", "rstrip"),
    ("upper", "lower"),
    ("find", "rfind"),
    ("partition", "rpartition"),
    ("split", "rsplit"),
    ("ljust", "rjust"),
    ("keys", "values"),
    ("union", "intersection"),
    ("add", "discard"),
    ("issubset", "issuperset"),
    ("bisect_left", "bisect_right"),
    ("takewhile", "dropwhile"),
)
_ONE_WAY = {
    "items": "values",
    "strip": "rstrip",
    "popleft": "pop",
    "appendleft": "append",
    "heappush": "heappushpop",
    "sorted": "list",
}
_OTHER = {**{right: left for left, right in _PAIRS}, **dict(_PAIRS), **_ONE_WAY}


class WrongCall:
    """Call the sibling of the right function."""

    name: ClassVar[str] = "wrong_call"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per call of a function that has a well-known sibling."""
        for site, call in module.sites(ast.Call):
            if isinstance(call.func, ast.Name) and call.func.id in _OTHER:
                yield module.replace(site, call.func, _OTHER[call.func.id])
            elif isinstance(call.func, ast.Attribute) and call.func.attr in _OTHER:
                end = module.end(call.func)
                start = end - len(call.func.attr.encode())
                yield module.edit(site, start, end, _OTHER[call.func.attr])
