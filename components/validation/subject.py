"""One repository as validation sees it: its tree, its tests, its files, parsed when asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from components.records.errors import InfrastructureError, InputError
from components.records.repository import (
    BaselineTest,
    Coverage,
    Environment,
    Recipe,
    Repository,
    TestStatus,
)
from components.records.task import Candidate, Split
from components.sandbox.base import Sandbox, Tree
from components.validation.config import ValidationConfig
from components.validation.select import CoverageMap
from components.validation.source import SourceFile
from components.validation.split import split_of
from components.validation.suspects import Function, executions
from components.validation.warm import Probe, Run, run_warm


@dataclass(frozen=True)
class Subject:
    """Picklable: goes to worker processes as it is."""

    repository: Repository
    recipe: Recipe
    tree: Tree
    tests: CoverageMap
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Test -> seconds on the untouched tree, on this machine. Decides when a run is out of time."""
    grades: Path | None = None
    """Where verdicts are kept for later stages."""

    @classmethod
    def build(
        cls,
        repository: Repository,
        environment: Environment,
        tree: Tree,
        baseline: list[BaselineTest],
        coverage: list[Coverage],
    ) -> "Subject":
        """From the rows of the repositories stage; rows of other repositories are left out."""
        own = [row for row in baseline if row.repository_id == repository.id]
        lines = [row for row in coverage if row.repository_id == repository.id]
        return cls(repository, environment.recipe, tree, CoverageMap.build(own, lines))

    def read(self, path: str) -> bytes:
        """A file of the untouched tree.

        Raises:
            InputError: There is no such file.
        """
        try:
            return (self.tree.repo / path).read_bytes()
        except (FileNotFoundError, IsADirectoryError):
            raise InputError(f"{self.repository.id}: no file {path}") from None

    def text(self, path: str) -> str:
        """The text of a file, or nothing when there is none (a test that a plugin made up)."""
        file = self.tree.repo / Path(path)
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    @cached_property
    def sources(self) -> dict[str, SourceFile]:
        """The files that tests execute and that may be changed."""
        paths = {path for files in self.tests.lines.values() for path in files} | set(self.tests.imported)
        return {path: SourceFile(path, self.text(path)) for path in sorted(paths)}

    @cached_property
    def executions(self) -> dict[Function, tuple[int, frozenset[str]]]:
        """Function -> its line and the tests that run it."""
        return executions(self.tests, self.sources)

    @cached_property
    def public(self) -> frozenset[str]:
        """Names that any user of the repository may know, and the words of its paths."""
        paths = {part for path in self.sources for part in path.removesuffix(".py").split("/")}
        return frozenset(paths).union(*(source.public for source in self.sources.values()))

    def source(self, path: str) -> SourceFile:
        """One file, whether or not any test executes it."""
        return self.sources.get(path) or SourceFile(path, self.read(path).decode("utf-8", "replace"))

    def side(self, candidate: Candidate, config: ValidationConfig) -> Split:
        """The side of the split on which a candidate lies, known before any test runs."""
        return split_of(
            self.repository.name,
            candidate.path,
            self.source(candidate.path).outermost(candidate.line),
            never_train=self.repository.never_train,
            seed=config.seed,
            heldout_fraction=config.heldout_fraction,
        )

    def timed(self, sandbox: Sandbox, config: ValidationConfig) -> "Subject":
        """Run the untouched suite in a warm interpreter and keep the tests that pass there, with their times.

        Raises:
            InfrastructureError: Hardly any does.
        """
        probe = Probe({}, (Run(self.tests.tests, cpu_seconds=600, wall_seconds=600),))
        run = run_warm(sandbox, self.tree, self.recipe, [probe], config.sandbox.limits)[0][0]
        kept = tuple(test for test in self.tests.tests if run.statuses.get(test) is TestStatus.PASSED)
        if 2 * len(kept) < len(self.tests.tests):
            raise InfrastructureError(
                f"{self.repository.id}: of {len(self.tests.tests)} stable tests only {len(kept)} pass now; "
                + "; ".join(run.problems[:3])
            )
        return replace(self, tests=replace(self.tests, tests=kept), seconds=run.durations)

    def time(self, tests: tuple[str, ...]) -> float:
        """Seconds that tests take on the untouched tree."""
        return sum(self.seconds.get(test, 0.0) for test in tests)
