"""Limits on everything in one process namespace, seen from outside of it."""

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from components.records.errors import SandboxError
from components.sandbox.base import Killed, Limits
from components.sandbox.running import readable
from components.sandbox.usage import proportional_kb, usage

_INODES_PER_MB = 256
_FULL_BYTES = 64 << 10
_FORKING_SECONDS = 0.5
_START_MS = 120_000
_DYING_SECONDS = 60
_FIRST_PAUSE, _LAST_PAUSE = 0.0005, 0.05


class NamespaceWatch:
    """Watches the processes of one bubblewrap, and ends them all at once."""

    def __init__(
        self, process: subprocess.Popen[bytes], status_fd: int, proc_fd: int, disk_fd: int, limits: Limits
    ) -> None:
        """Waits for bubblewrap to report its child.

        Args:
            process: What waits for bubblewrap.
            status_fd: Where bubblewrap writes its JSON status.
            proc_fd: The /proc of the process namespace that bubblewrap runs in.
            disk_fd: The session's tmpfs.
            limits: What to keep.
        """
        self._process = process
        self._status_fd = status_fd
        self._disk_fd = disk_fd
        self._outside = os.fstat(proc_fd).st_dev
        self._limits = limits
        self._full_since: float | None = None
        self._init_fd = -1
        self._status = b""
        while b"\n" not in self._status:
            if not readable(status_fd, _START_MS):
                process.kill()
                raise SandboxError("bubblewrap does not start; is the machine overloaded?")
            data = os.read(status_fd, 4096)
            if not data:
                return  # it failed before it began, so there will be no exit code either
            self._status += data
        # Process 1 of the command's own process namespace: when it dies, everything in there does.
        # Its number means something only where bubblewrap runs; its folder is a handle for signals as well.
        init = str(json.loads(self._status.splitlines()[0])["child-pid"])
        with contextlib.suppress(FileNotFoundError):  # it has come to its end already
            self._init_fd = os.open(init, os.O_RDONLY | os.O_DIRECTORY, dir_fd=proc_fd)
        # As the processes in there see it.
        self._proc = str(Path("/proc/self/fd", str(self._init_fd), "root", "proc"))

    def check(self) -> Killed:
        """See `components.sandbox.running.Watch`."""
        space = os.statvfs(self._disk_fd)
        if space.f_files - space.f_ffree > self._limits.disk_mb * _INODES_PER_MB:
            return "disk"
        pids = self._pids()
        used = usage(self._proc, pids)
        if used.cpu_seconds > self._limits.cpu_seconds:
            return "cpu"
        budget = self._limits.memory_mb * 1024
        if used.rss_kb > budget and proportional_kb(self._proc, pids) > budget:
            return "memory"
        # A program may touch its limit for a moment; one that stays there is a bomb.
        if used.processes < self._limits.pids:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = time.monotonic()
        elif time.monotonic() - self._full_since > _FORKING_SECONDS:
            return "pids"
        return ""

    def kill(self) -> None:
        """See `components.sandbox.running.Watch`."""
        if self._init_fd < 0:
            self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)
        # bubblewrap itself ends before its child does, which ends when all the others have.
        deadline = time.monotonic() + _DYING_SECONDS
        pause = _FIRST_PAUSE
        while self._lives():
            if time.monotonic() > deadline:
                raise SandboxError("processes of a command do not die; is the machine out of memory?")
            time.sleep(pause)
            pause = min(pause * 2, _LAST_PAUSE)

    def exit_code(self) -> int | None:
        """What bubblewrap reported, `None` if the command never began. Only after its end."""
        while data := os.read(self._status_fd, 4096):
            self._status += data
        for line in self._status.splitlines()[1:]:
            if "exit-code" in (entry := json.loads(line)):
                return int(entry["exit-code"])
        return None

    def disk_is_full(self) -> bool:
        """Has the session used up its disk?"""
        space = os.statvfs(self._disk_fd)
        return space.f_bavail * space.f_frsize < _FULL_BYTES or not space.f_favail

    def close(self) -> None:
        """Give back what it holds."""
        if self._init_fd >= 0:
            os.close(self._init_fd)
            self._init_fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.kill()
            self._process.wait()
        finally:
            self.close()

    def _lives(self) -> bool:
        try:
            stat = os.open("stat", os.O_RDONLY, dir_fd=self._init_fd)
        except OSError:
            return False
        with os.fdopen(stat, "rb") as file, contextlib.suppress(ProcessLookupError):
            return not file.read().rpartition(b")")[2].lstrip().startswith((b"Z", b"X"))
        return False

    def _pids(self) -> list[str]:
        # The namespace's own /proc lists just its processes. Until it is mounted this is the outer one.
        with contextlib.suppress(OSError):
            if Path(self._proc).stat().st_dev != self._outside:
                return [path.name for path in Path(self._proc).iterdir() if path.name.isdigit()]
        return []
