"""Parameters of the validation stage."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from components.records.task import Split
from components.sandbox.config import SandboxConfig


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Targets(_Config):
    """How many tasks of each split are enough. 0: take none of that split."""

    train: int = Field(420, ge=0)
    """To learn from."""
    heldout: int = Field(64, ge=0)
    """In functions that are never trained on."""
    heldout_repo: int = Field(24, ge=0)
    """In repositories that are never trained on."""

    def of(self, split: Split) -> int:
        """The target of one split."""
        return {"train": self.train, "heldout": self.heldout, "heldout_repo": self.heldout_repo}[split]


class StatementConfig(_Config):
    """Length of problem statements."""

    max_tests: int = Field(2, ge=1)
    """Failing tests named in the visible setting."""
    max_frames: int = Field(4, ge=1)
    """Traceback frames of the repository's own code, innermost kept."""
    max_functions: int = Field(3, ge=0)
    """Functions named when no traceback frame lies in the code: those that the failing tests run and few
    other tests do, and those that the test calls itself, in turn."""
    max_message: int = Field(200, ge=20)
    """Characters of the exception's message."""
    max_characters: int = Field(480, ge=120)
    """Characters of the whole statement, about three to a token."""


class TimeConfig(_Config):
    """How long a candidate's tests may run."""

    factor: float = Field(4.0, gt=1)
    """Times what the tests take on the untouched tree, on this machine, now."""
    cpu_seconds: float = Field(2.0, gt=0)
    """CPU seconds on top: what a mutant that loops for ever burns before it dies. CPU time does not
    depend on how busy the machine is, so the verdict does not either."""
    wall_seconds: float = Field(10.0, gt=0)
    """Wall seconds on top, for mutants that sleep or wait."""


class ValidationConfig(_Config):
    """What makes a candidate a task, and how many are wanted."""

    seed: int = 0
    targets: Targets = Targets()
    heldout_fraction: float = Field(0.15, ge=0, lt=1)
    """Share of functions held out, by hash of (repository, file, outermost function)."""
    max_candidates: int | None = Field(None, ge=1)
    """Stop after this many candidates per split, whatever the targets."""
    max_per_function: int = Field(4, ge=1)
    """Candidates of one function in one round: functions take turns, so that none crowds the others out."""
    wave: tuple[int, int] = (8, 192)
    """Least and most candidates of one split that are tried before the targets are looked at again."""
    batch: int = Field(16, ge=1)
    """Candidates that share a warm interpreter."""
    max_pass_to_pass: int = Field(50, ge=1)
    """Pass-to-pass tests kept per task, to keep grading quick: covering tests first."""
    confirm: Literal["all", "sample", "none"] = "all"
    """Which kept candidates the full suite confirms."""
    confirm_share: float = Field(0.1, ge=0, le=1)
    """Share confirmed when `confirm` is `sample`, chosen by hash."""
    time: TimeConfig = TimeConfig()
    statement: StatementConfig = StatementConfig()
    sandbox: SandboxConfig = SandboxConfig()
    """What the tests run in."""
    workers: int | None = Field(None, ge=1, json_schema_extra={"affects_output": False})
    """Processes; the output does not depend on it."""
