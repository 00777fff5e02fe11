"""Parsing Python in threads."""

import ast
import threading

_ONE_AT_A_TIME = threading.RLock()


def parse(text: str) -> ast.Module:
    """As `ast.parse`, in any thread.

    Before Python 3.13 all threads count the depth of the tree in the same place, and a garbage collection that runs
    code of Python lets another thread in: `SystemError: AST constructor recursion depth mismatch`.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(text)
