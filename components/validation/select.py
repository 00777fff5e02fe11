"""Which tests can notice a change: read off the coverage map, without running anything."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from components.records.repository import BaselineTest, Coverage, TestStatus
from components.validation.source import SourceFile


@dataclass(frozen=True)
class CoverageMap:
    """The tests that count, in the order of the baseline, and the lines they execute."""

    tests: tuple[str, ...]
    lines: Mapping[str, Mapping[str, frozenset[int]]]
    """Test -> file -> lines."""
    imported: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """File -> lines executed while modules were imported, on behalf of no test."""

    @classmethod
    def build(cls, baseline: Iterable[BaselineTest], coverage: Iterable[Coverage]) -> "CoverageMap":
        """Of one repository. Only tests that passed in every run count."""
        stable = dict.fromkeys(
            row.test
            for row in baseline
            if row.stable and all(status is TestStatus.PASSED for status in row.statuses)
        )
        lines: dict[str, dict[str, frozenset[int]]] = {}
        imported: dict[str, frozenset[int]] = {}
        for row in coverage:
            if not row.test:
                imported[row.path] = frozenset(row.lines)
            elif row.test in stable:
                lines.setdefault(row.test, {})[row.path] = frozenset(row.lines)
        return cls(tuple(stable), lines, imported)

    def covering(self, path: str, source: SourceFile, changed: Iterable[int]) -> tuple[str, ...]:
        """The tests that execute changed code of one file, in the order of the baseline.

        A function that runs while modules are imported leaves what it made behind for every test, so then
        any test that executes any line of the file counts.
        """
        changed = tuple(changed)
        wanted = source.influence(changed)
        if self.imported.get(path, frozenset()) & source.statements(changed):
            wanted = source.influence([0])
        return tuple(t for t in self.tests if not wanted.isdisjoint(self.lines.get(t, {}).get(path, ())))

    def around(self, tests: Iterable[str], most: int, order: Callable[[str], float]) -> tuple[str, ...]:
        """The given tests and the first `most` others of their files, in that order."""
        given = frozenset(tests)
        files = {test.partition("::")[0] for test in given}
        others = [test for test in self.tests if test not in given and test.partition("::")[0] in files]
        chosen = given.union(sorted(others, key=order)[:most])
        return tuple(test for test in self.tests if test in chosen)

    def breadth(self, test: str) -> int:
        """How many lines a test executes: the fewer, the more it tells."""
        return sum(len(lines) for lines in self.lines.get(test, {}).values())
