"""What an audit and a taint analysis say, as records: printed as a tree or as JSON."""

from datetime import datetime
from typing import Literal

from components.records.base import Json, Record
from components.records.errors import CorruptionError, FlywheelError
from components.records.quality import Verdict
from components.records.repository import Repository
from components.records.training import Checkpoint


class Problem(Record):
    """One thing that is not as it must be."""

    kind: Literal["corrupt", "broken link", "policy"]
    where: str
    """File, or table and column."""
    detail: str


class Node(Record):
    """One dataset on the chain."""

    stage: str
    digest: str
    key: str
    inputs: dict[str, str]
    rows: dict[str, int]
    rejected: dict[str, int]
    files: int
    bytes: int
    config: Json
    code_version: int
    code_commit: str
    dirty: bool
    lock_sha256: str
    machine: str
    started: datetime
    ended: datetime
    cost: dict[str, float]
    deterministic: bool
    why: str
    followed: bool
    """False: it steered what was made and gave no row, so the chain ends here."""
    data_docs: str
    """Where the page of the gates lies; empty for other stages."""


class Link(Record):
    """Rows of one table joined to the rows they name as parents."""

    child: str
    """`table.column` or `table.(column, column)`."""
    child_digest: str
    parent: str
    parent_digest: str
    rows: int
    missing: int
    """Rows whose parent does not exist."""
    examples: tuple[str, ...]
    """Some of them."""


class SourceUse(Record):
    """One repository and how much of it is in the training rows."""

    repository: Repository
    tasks: int
    trajectories: int
    examples: int


class AuditReport(Record):
    """The chain behind a checkpoint, and whether it holds."""

    ref: str
    """As asked for."""
    dataset: str
    """Digest of the dataset that holds the checkpoint."""
    aliases: tuple[str, ...]
    """Pointers at it."""
    checkpoint: Checkpoint | None
    """None when the dataset holds no checkpoint (any dataset can be audited)."""
    nodes: tuple[Node, ...]
    """From the checkpoint back to the repositories; each dataset once."""
    links: tuple[Link, ...]
    sources: tuple[SourceUse, ...]
    teachers: dict[str, int]
    """Who acted in the accepted trajectories, and in how many."""
    verdicts: tuple[Verdict, ...]
    problems: tuple[Problem, ...]
    files: int
    bytes: int
    seconds: float

    @property
    def ok(self) -> bool:
        """True: every byte and every link is as it must be."""
        return not self.problems

    @property
    def exit_code(self) -> int:
        """0, or that of the gravest problem."""
        if any(problem.kind == "corrupt" for problem in self.problems):
            return CorruptionError.exit_code
        return FlywheelError.exit_code if self.problems else 0


class Touched(Record):
    """One dataset that holds something of an item."""

    stage: str
    digest: str
    rows: dict[str, int]
    """Table to number of rows that come from the item."""
    of: dict[str, int]
    """Table to number of rows in all."""


class TaintedCheckpoint(Record):
    """A checkpoint that has learnt from an item."""

    dataset: str
    checkpoint: str
    examples: int
    of: int
    through: str
    """Empty, or the digest of the tainted checkpoint that it starts from or whose rollouts it learnt from."""
    aliases: tuple[str, ...]


class TaintReport(Record):
    """What an item has touched."""

    kind: Literal["repository", "task", "trajectory"]
    ref: str
    items: tuple[str, ...]
    """Ids that the reference stands for: a repository's name stands for all its versions."""
    touched: tuple[Touched, ...]
    checkpoints: tuple[TaintedCheckpoint, ...]
    seconds: float

    @property
    def live(self) -> tuple[str, ...]:
        """Pointers to champions that are tainted."""
        names = {name for row in self.checkpoints for name in row.aliases}
        return tuple(sorted(name for name in names if name.startswith("champions/")))

    @property
    def exit_code(self) -> int:
        """Not 0 when a live champion is tainted."""
        return FlywheelError.exit_code if self.live else 0
