"""The body of an `if` becomes `pass`, or the whole `if` goes."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule

_EXITS = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Pass)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


class RemoveBranch:
    """Forget a special case."""

    name: ClassVar[str] = "remove_branch"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """Each branch of one statement emptied, and each `if` without `else` taken out."""
        for site, node in module.sites(ast.If):
            for block in (node.body, node.orelse):
                # A branch that leaves is `early_exit`'s; an `elif` is an `if` of its own.
                if len(block) == 1 and not isinstance(block[0], (*_EXITS, *_COMPOUND)):
                    yield module.replace(site, block[0], "pass")
            if not node.orelse and not _is_elif(module, node):
                yield module.delete(site, node)


def _is_elif(module: ParsedModule, node: ast.If) -> bool:
    return module.data.startswith(b"elif", module.start(node))
