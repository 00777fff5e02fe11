"""Which functions the failing tests run and few others do (Ochiai's coefficient over the coverage map).

Whoever has the coverage of an earlier green run and a list of failures can tell as much; nothing of the bug
itself goes in.
"""

from collections.abc import Iterable, Mapping
from math import sqrt

from components.validation.select import CoverageMap
from components.validation.source import SourceFile

Function = tuple[str, str]
"""(path, qualified name)."""


def executions(
    coverage: CoverageMap, sources: Mapping[str, SourceFile]
) -> dict[Function, tuple[int, frozenset[str]]]:
    """Every function that some test runs: the line of its `def`, and the tests that run its body."""
    found: dict[Function, tuple[int, set[str]]] = {}
    for test in coverage.tests:
        for path, lines in coverage.lines.get(test, {}).items():
            for function in sources[path].functions:
                if not lines.isdisjoint(range(function.body, function.end + 1)):
                    entry = found.setdefault((path, function.qualname), (function.definition, set()))
                    entry[1].add(test)
    return {name: (line, frozenset(tests)) for name, (line, tests) in found.items()}


def suspects(
    failing: Iterable[str], run_by: Mapping[Function, tuple[int, frozenset[str]]], limit: int
) -> tuple[Function, ...]:
    """The most suspicious functions first; of equal ones the one that fewer tests run, then by place."""
    wanted = frozenset(failing)
    ranked = []
    for (path, name), (line, tests) in run_by.items():
        common = len(wanted & tests)
        if common:
            ranked.append((-common / sqrt(len(wanted) * len(tests)), len(tests), path, line, name))
    return tuple((path, name) for _, _, path, _, name in sorted(ranked)[:limit])
