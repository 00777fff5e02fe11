"""`row["name"]` becomes `row["title"]` or `row["nam"]`."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message, pick
from components.synthesis.scope import Function, Site
from components.synthesis.source import ParsedModule

# One token, one line, no escapes: what lies between the quotes can be edited as text.
_PLAIN = re.compile(r"""([bBrRuU]{0,2})(['"])([^'"\\\r\n]*)\2""")
_REPR = frozenset({"__repr__", "__str__"})


class StringLiteral:
    """Look up, compare with or pass the wrong text."""

    name: ClassVar[str] = "string_literal"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per key, compared text or text argument; messages are left alone."""
        keys: dict[Function, set[str]] = defaultdict(set)
        found = []
        for site, node in module.sites(ast.Constant):
            if not isinstance(node.value, (str, bytes)) or site.function.node.name in _REPR:
                continue
            match = _PLAIN.fullmatch(module.text(node))
            if match and _matters(site) and not in_message(site):
                found.append((site, node, match))
                keys[site.function].add(match[0])
        for site, node, match in found:
            others = sorted(
                text for text in keys[site.function] if text != match[0] and text[0] == match[0][0]
            )
            prefix, quote, content = match.groups()
            if others and not isinstance(site.parent and site.parent.node, ast.Call):
                text = pick(others, site.function.qualname, match[0], node.lineno)
            else:
                text = f"{prefix}{quote}{_other(content)}{quote}"
            yield module.replace(site, node, text)


def _other(content: str) -> str:
    if len(content) > 1:
        return content[:-1]
    return "_" if content == " " else " "


def _matters(site: Site) -> bool:
    parent = site.parent.node if site.parent else None
    if isinstance(parent, ast.Dict):
        return site.field == "keys"
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        return isinstance(site.parent and site.parent.parent and site.parent.parent.node, ast.Compare)
    return isinstance(parent, (ast.Subscript, ast.Compare, ast.Call, ast.Attribute))
