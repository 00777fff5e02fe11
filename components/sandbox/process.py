"""No isolation at all: commands run on this machine as this user, on a copy of the tree.

Only for code that you trust, where neither bubblewrap nor docker can run; made only when the parameters
name it. Time, memory per process and output are limited; network, processes and files are not. There is
no /repo and no /env: commands see the folders that the copy and the environment really have.
"""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from components.records.errors import ConfigError
from components.sandbox import owner
from components.sandbox.base import COLLECT_ENV, ENV, FIXED_ENV, ExecResult, Killed, Limits, Tree
from components.sandbox.collecting import take
from components.sandbox.config import SandboxConfig
from components.sandbox.host import check
from components.sandbox.limiting import limited
from components.sandbox.running import supervise
from components.sandbox.usage import usage
from components.sandbox.workcopy import WorkCopy, WorkCopySession

_MARK = "FLYWHEEL_PROCESS_SESSION"
_KILL_ROUNDS = 200
_PREFIX = "flywheel-process-"


class ProcessSandbox:
    """Opens sessions that isolate nothing."""

    name = "process"

    def __init__(self, config: SandboxConfig) -> None:
        if config.kind != "process":
            raise ConfigError(
                "sandbox.kind", config.kind, "process", "it isolates nothing, so it must be named"
            )
        self._config = config

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> "ProcessSession":
        """See `components.sandbox.base.Sandbox`."""
        check(tree)
        collect_garbage()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            (folder / "owner").write_text(owner.this_process())
            shutil.copytree(tree.repo, folder / "repo", symlinks=True)
            (folder / "tmp").mkdir()
            return ProcessSession(folder, tree, files, remove, limits or self._config.limits)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


class ProcessSession(WorkCopySession):
    """See `components.sandbox.base.Session`."""

    def __init__(
        self, folder: Path, tree: Tree, files: Mapping[str, bytes], remove: Sequence[str], limits: Limits
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._mark = secrets.token_hex(16)
        (folder / "mark").write_text(self._mark)
        self._fd = os.open(folder / "repo", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._variables = {
            **FIXED_ENV,
            "PATH": FIXED_ENV["PATH"].replace(ENV, str(tree.environment.resolve())),
            "HOME": str(folder / "tmp"),
            "TMPDIR": str(folder / "tmp"),
            _MARK: self._mark,
        }
        try:
            super().__init__(WorkCopy(tree.repo, self._fd, None, None, files, remove))
        except BaseException:
            os.close(self._fd)
            raise

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
        """See `components.sandbox.base.Session`."""
        limits = limits or self._limits
        variables = {**self._variables, **(env or {})}
        box = None
        if collect is not None:
            box = self._folder / secrets.token_hex(16)
            box.mkdir()
            variables[collect_env] = str(box)
        prlimit = shutil.which("prlimit")
        program = limited(limits, argv, pids=False, program=prlimit) if prlimit else list(argv)
        try:
            process = subprocess.Popen(
                program,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=variables,
                cwd=self._folder / "repo",
                start_new_session=True,
            )
        except FileNotFoundError as error:
            # As a shell and prlimit say it.
            return ExecResult(
                exit_code=127,
                stdout="",
                stderr=str(error),
                timed_out=False,
                killed="",
                seconds=0,
                truncated=False,
            )
        watch = _MarkedWatch(process.pid, self._mark, limits)
        wall = limits.wall_seconds if timeout is None else timeout
        outcome = supervise(process, watch, stdin=stdin, wall_seconds=wall, limits=limits)
        if collect is not None and box is not None:
            take(str(box), collect)
            shutil.rmtree(box, ignore_errors=True)
        killed: Killed = "cpu" if outcome.returncode == -signal.SIGXCPU else outcome.killed
        return outcome.result(outcome.returncode, killed)

    def close(self) -> None:
        """See `components.sandbox.base.Session`."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            shutil.rmtree(self._folder, ignore_errors=True)


def collect_garbage() -> None:
    """End the processes of sessions whose owner is dead, and remove their folders."""
    for folder in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            if owner.is_gone((folder / "owner").read_text()):
                _kill_marked((folder / "mark").read_text())
                shutil.rmtree(folder, ignore_errors=True)


class _MarkedWatch:
    """Finds a command's processes by a variable in their environment, which daemons inherit too."""

    def __init__(self, leader: int, mark: str, limits: Limits) -> None:
        self._leader, self._mark, self._limits = leader, mark, limits

    def check(self) -> Killed:
        """See `components.sandbox.running.Watch`."""
        used = usage("/proc", [str(pid) for pid in self._tree()])
        if used.cpu_seconds > self._limits.cpu_seconds:
            return "cpu"
        if used.rss_kb > self._limits.memory_mb * 1024:
            return "memory"
        return "pids" if used.processes > self._limits.pids else ""

    def kill(self) -> None:
        """See `components.sandbox.running.Watch`."""
        _kill_marked(self._mark)

    def _tree(self) -> list[int]:
        # Cheaper than looking for the mark, and enough for limits that are a courtesy here.
        try:
            leader = psutil.Process(self._leader)
            return [self._leader, *(child.pid for child in leader.children(recursive=True))]
        except psutil.Error:
            return []


def _kill_marked(mark: str) -> None:
    # Again, for those that were forked meanwhile; not for ever, since some sleep in the kernel.
    for _ in range(_KILL_ROUNDS):
        pids = _marked(mark)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark: str) -> list[int]:
    needle = f"{_MARK}={mark}".encode()
    found = []
    with os.scandir("/proc") as entries:
        for entry in entries:
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                # A zombie has no environment, so it is not found again.
                if needle in Path(entry.path, "environ").read_bytes():
                    found.append(int(entry.name))
    return found
