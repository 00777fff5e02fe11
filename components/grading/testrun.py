"""What one run of a repository's tests told us."""

from typing import ClassVar

from pydantic import Field

from components.records.base import Record
from components.records.repository import TestStatus


class Frame(Record):
    """One traceback entry inside the repository. Source text is never kept."""

    path: str
    """Relative to the repository."""
    line: int
    function: str


class Failure(Record):
    """Why a test (or, under a file's name, its collection) failed."""

    exception: str
    """Qualified name of the exception's type."""
    message: str
    """First lines of its text, bounded."""
    frames: tuple[Frame, ...]
    """Outermost first."""
    phase: str
    """`collect`, `setup`, `call` or `teardown`."""


class Event(Record):
    """Something unusual that code of the repository did while its tests ran (Python audit events)."""

    kind: str
    """`introspection`, `network`, `process`, `native`, `write_outside`, ..."""
    detail: str
    frames: tuple[Frame, ...]
    """Stack inside the repository, innermost first: says whose code it was."""


class TestRun(Record):
    """The result of one `run_tests`."""

    __test__: ClassVar[bool] = False  # for pytest, to which the name looks like a test

    statuses: dict[str, TestStatus]
    """Every test asked for; `missing` when nothing was reported for it."""
    exit_code: int
    timed_out: bool = False
    killed: str = ""
    """Limit that ended the run (`memory`, `pids`, ...) or `signal <n>`; empty when it ended by itself."""
    output: str = ""
    """Head and tail of what the run printed. For people and models to read; no verdict is taken from it."""
    failures: dict[str, Failure] = Field(default_factory=dict)
    """Test -> why it failed; collection failures are under the file's path."""
    durations: dict[str, float] = Field(default_factory=dict)
    """Seconds, set-up and tear-down included."""
    coverage: dict[str, dict[str, tuple[int, ...]]] = Field(default_factory=dict)
    """Test -> file -> lines, when asked for. Under `""`: lines executed while modules were imported."""
    hung: str = ""
    """The test that was running when the time was up."""
    events: tuple[Event, ...] = ()
    trusted: bool = True
    """False: something about the report is odd, and no status in it may count in favour of a submission."""
    problems: tuple[str, ...] = ()
    """Why it is not trusted."""
    seconds: float = 0.0
