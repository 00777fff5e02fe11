"""Which lines of a repository any test runs, from the baseline's coverage map."""

import pyarrow as pa
import pyarrow.compute as pc

from components.synthesis.diff import Hunk


class CoveredLines:
    """Union over all tests of one repository; knows nothing, and so allows all, where there is no map."""

    def __init__(self, coverage: pa.Table, repository_id: str) -> None:
        # Left to Arrow: a large suite has a hundred million entries.
        rows = coverage.filter(pc.equal(coverage["repository_id"], pa.scalar(repository_id)))
        rows = rows.filter(pc.not_equal(rows["test"], pa.scalar("")))  # what no test, but an import runs
        self._lines: dict[str, frozenset[int]] = {}
        for path in rows["path"].unique().to_pylist():
            lines = pc.list_flatten(rows.filter(pc.equal(rows["path"], pa.scalar(str(path))))["lines"])
            self._lines[str(path)] = frozenset(line for line in lines.unique().to_pylist() if line)

    def touches(self, path: str, hunk: Hunk) -> bool:
        """Whether a test runs any line that a change takes out or replaces."""
        if not self._lines:
            return True
        changed = range(hunk.first + 1, hunk.first + 1 + max(1, len(hunk.old)))
        return not self._lines.get(path, frozenset()).isdisjoint(changed)
