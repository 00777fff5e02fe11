"""What every sandbox offers: open a session on a tree, run commands in it, read what changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self

from components.records.base import Record
from components.records.errors import InputError

Killed = Literal["", "wall", "cpu", "memory", "pids", "disk", "output"]

TIMED_OUT = 124
"""Exit code of a command that ran out of wall time, as `timeout(1)` has it."""

REPO = "/repo"
"""Where a session sees the repository."""

ENV = "/env"
"""Where a session sees the environment."""

FIXED_ENV: Mapping[str, str] = {
    "PATH": "/env/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TZ": "UTC",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""The whole environment of a command, but for what its caller adds: nothing of the host's."""

COLLECT_ENV = "FLYWHEEL_COLLECT"
"""Default name of the variable that tells a command where its `collect` folder is."""


class Limits(Record):
    """What one command may use. `disk_mb` is for the whole session: changed files and /tmp."""

    wall_seconds: float = 60
    """Time until the whole process tree is killed."""
    cpu_seconds: float = 60
    """Processor time of all its processes together."""
    memory_mb: int = 1024
    """Memory of all its processes together."""
    pids: int = 256
    """Processes and threads at once."""
    disk_mb: int = 256
    """Changed files and /tmp, of the whole session."""
    output_bytes: int = 65536
    """How much of stdout, and of stderr, is kept (head and tail)."""


class ExecResult(Record):
    """How one command ended."""

    exit_code: int
    """128+n when killed by signal n; 124 when timed out."""
    stdout: str
    stderr: str
    timed_out: bool
    killed: Killed
    """The limit that ended it, if one did."""
    seconds: float
    truncated: bool
    """The middle of stdout or stderr was left out."""


@dataclass(frozen=True)
class Tree:
    """A pristine repository and what its tests run in. Never written to by a session."""

    environment: Path
    """A virtual environment, read-only at /env."""
    repo: Path
    """The repository, copy-on-write at /repo."""
    digest: str


class UnsafePathError(InputError):
    """A path that leaves the repository, by `..`, from the root, or through a symbolic link."""


class Diff(NamedTuple):
    """The text of a diff, and the files that could not be part of it."""

    text: str
    refused: tuple[str, ...]
    """`path: reason`, sorted."""


class Session(Protocol):
    """One copy of a tree that commands may change. Not for use by two threads at once."""

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: Limits | None = None,
        collect: Path | None = None,
        collect_env: str = COLLECT_ENV,
    ) -> ExecResult:
        """Run a command in /repo; every process it leaves behind dies when it ends.

        Args:
            argv: The command; never a shell line.
            timeout: Wall seconds; the limits' by default.
            env: Variables beside the fixed ones.
            stdin: What the command reads.
            limits: Instead of the session's. `disk_mb` is the session's always.
            collect: An empty host folder. The command may write to a folder at an unguessable path,
                named by the variable `collect_env`; its regular files are then copied to `collect`.
            collect_env: The name of that variable.
        """
        ...

    def read(self, path: str) -> bytes:
        """The bytes of a regular file. `path` is relative to /repo here and below."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file, and the folders it needs."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file, or a symbolic link itself."""
        ...

    def exists(self, path: str) -> bool:
        """Is it a regular file (perhaps through a link that stays inside)?"""
        ...

    def files(self) -> list[str]:
        """Every regular file, sorted, without caches."""
        ...

    def diff(self) -> str:
        """What changed since open, as git shows it. Text files only."""
        ...

    def diff_report(self) -> Diff:
        """The diff, and what it had to leave out."""
        ...

    def close(self) -> None:
        """Give everything back. Twice is once."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Sandbox(Protocol):
    """A way to run code that we do not trust."""

    name: str

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Session:
        """A session on a copy of the tree in which `files` are written and `remove` deleted.

        `limits` are those of every command unless `exec` says; the configuration's by default.
        """
        ...
