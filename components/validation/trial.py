"""A candidate on its way to a task."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.grading.testrun import TestRun
from components.records.task import Candidate


@dataclass
class Trial:
    """What is known so far; each step of `prove` fills in its part."""

    candidate: Candidate
    files: Mapping[str, bytes]
    """The changed files as the bug leaves them."""
    covering: tuple[str, ...]
    """Tests that can notice the change."""
    around: tuple[str, ...]
    """Tests of the second run: those and their neighbours."""
    confirmed: bool
    """The second run is the full suite."""
    first: TestRun | None = None
    second: TestRun | None = None
    failing: tuple[str, ...] = ()
    """Covering tests that fail in every run."""
    beside: tuple[str, ...] = ()
    """Other tests that fail: the bug breaks an import, or reaches them through shared state."""
    passing: tuple[str, ...] = ()
    """Tests that pass in every run they were part of."""

    @property
    def id(self) -> str:
        """The candidate's."""
        return self.candidate.id
