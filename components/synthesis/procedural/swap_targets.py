"""`head, tail = parts` becomes `tail, head = parts`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule


class SwapTargets:
    """Unpack into the wrong variables."""

    name: ClassVar[str] = "swap_targets"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per pair of targets that is unpacked into, loops and comprehensions included."""
        for site, node in module.sites(ast.Tuple):
            if not isinstance(node.ctx, ast.Store) or len(node.elts) != 2:
                continue
            first, second = node.elts
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                continue
            between = module.data[module.end(first) : module.start(second)].decode()
            text = module.text(second) + between + module.text(first)
            yield module.edit(site, module.start(first), module.end(second), text)
