"""`except KeyError` becomes `except IndexError`, `except (A, B)` becomes `except A`."""

import ast
from collections.abc import Iterator
from typing import ClassVar

from components.synthesis.edit import Edit
from components.synthesis.source import ParsedModule

_OTHER = {
    "KeyError": "IndexError",
    "IndexError": "KeyError",
    "ValueError": "TypeError",
    "TypeError": "ValueError",
    "AttributeError": "KeyError",
    "StopIteration": "IndexError",
    "OSError": "ValueError",
    "IOError": "ValueError",
    "ImportError": "AttributeError",
    "UnicodeDecodeError": "UnicodeEncodeError",
    "UnicodeEncodeError": "UnicodeDecodeError",
    "NotImplementedError": "ValueError",
    "Exception": "ValueError",
}


class WrongException:
    """Catch or raise another kind of error."""

    name: ClassVar[str] = "wrong_exception"

    def spans(self, module: ParsedModule) -> Iterator[Edit]:
        """One edit per well-known type caught or raised, and one per member of a caught tuple."""
        for site, handler in module.sites(ast.ExceptHandler):
            if isinstance(handler.type, ast.Name) and handler.type.id in _OTHER:
                yield module.replace(site, handler.type, _OTHER[handler.type.id])
            elif isinstance(handler.type, ast.Tuple) and len(handler.type.elts) > 1:
                yield from (module.replace(site, handler.type, module.text(one)) for one in handler.type.elts)
        for site, raised in module.sites(ast.Raise):
            made = raised.exc.func if isinstance(raised.exc, ast.Call) else raised.exc
            if isinstance(made, ast.Name) and made.id in _OTHER:
                yield module.replace(site, made, _OTHER[made.id])
