"""`sorted(xs, key=size)` becomes `sorted(xs)`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.procedural.base import in_message
from components.synthesis.source import ParsedModule


class DropKeyword:
    """Forget to pass an option on."""

    name: ClassVar[str] = "drop_keyword"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per keyword argument."""
        for site, call in module.sites(ast.Call):
            if in_message(site):
                continue
            for keyword in call.keywords:
                start, end = module.start(keyword), module.end(keyword)
                after = module.token(end, module.end(call) - 1, ",")
                ends = [*map(module.end, call.args), *map(module.end, call.keywords)]
                earlier = [offset for offset in ends if offset <= start]
                before = module.token(max(earlier), start, ",") if earlier else None
                if after:  # with the comma and the blanks after it
                    yield module.cut(site, start, after[1])
                elif before:
                    yield module.edit(site, before[0], end, "")
                else:
                    yield module.edit(site, start, end, "")
