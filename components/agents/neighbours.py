"""Which tests to run beside failing ones: enough to tell lines apart, not a suite of thousands."""

import ast
from collections.abc import Sequence

from components.grading.syntax import parse


def companions(text: str, path: str, failing: Sequence[str], limit: int) -> list[str]:
    """Node ids of tests of a file to run together, the failing ones among them.

    The whole file if it defines no more tests than `limit`. Otherwise half of the others are those written
    next to the failing ones, which tend to test the same code, and half are spread over the file. What a test
    covers plays no part: an agent could not know.
    """
    defined = _defined(text, path)
    if len(defined) <= limit:
        return [path]
    # Parameters of a test are not told apart: its node id stands for all of them.
    wanted = {test.partition("[")[0] for test in failing}
    at = [index for index, test in enumerate(defined) if test in wanted]
    if not at:
        return [path]
    by_distance = sorted(
        range(len(defined)), key=lambda index: (min(abs(index - other) for other in at), index)
    )
    chosen = set(by_distance[: len(at) + limit // 2])
    step = len(defined) / max(1, limit - limit // 2)
    chosen |= {int(number * step) for number in range(limit - limit // 2)}
    return [test for index, test in enumerate(defined) if index in chosen]


def _defined(text: str, path: str) -> list[str]:
    try:
        tree = parse(text)
    except SyntaxError:
        return []
    found: list[str] = []
    _collect(tree.body, path, found)
    return found


def _collect(body: Sequence[ast.stmt], prefix: str, found: list[str]) -> None:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found.append(f"{prefix}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            _collect(node.body, f"{prefix}::{node.name}", found)
