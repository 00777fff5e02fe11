"""Sandboxes of Linux namespaces: no daemon, no image, milliseconds to open.

A session keeps one holder (see `holder.py`): a process that does nothing but own a mount namespace with
a size-limited tmpfs and, on it, the overlay of the repository. Each command then gets namespaces of its
own for processes, IPC, host name and users, and sees of the holder only /repo, /env, /tmp and the system.
"""

import os
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from components.records.errors import SandboxError
from components.sandbox.base import COLLECT_ENV, FIXED_ENV, REPO, Diff, ExecResult, Limits, Tree
from components.sandbox.collecting import take
from components.sandbox.config import SandboxConfig
from components.sandbox.holder import DISK, Holder, prepare
from components.sandbox.limiting import limited
from components.sandbox.namespaces import NamespaceWatch
from components.sandbox.running import Outcome, supervise
from components.sandbox.workcopy import WorkCopy

_SHM_BYTES = 64 << 20
_NAMESPACES = [
    "--unshare-user",
    "--disable-userns",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
    "--new-session",
    "--die-with-parent",
    "--clearenv",
]


class BubblewrapSandbox:
    """Opens sessions in namespaces."""

    name = "bubblewrap"

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> "BubblewrapSession":
        """See `components.sandbox.base.Sandbox`."""
        limits = limits or self._config.limits
        uid = self._config.uid if os.geteuid() == 0 else None
        prepare(tree, uid)
        holder = Holder(tree, uid, limits.disk_mb)
        try:
            return BubblewrapSession(holder, tree, files, remove, limits)
        except BaseException:
            holder.close()
            raise


class BubblewrapSession:
    """See `components.sandbox.base.Session`."""

    def __init__(
        self, holder: Holder, tree: Tree, files: Mapping[str, bytes], remove: Sequence[str], limits: Limits
    ) -> None:
        self._holder = holder
        self._limits = limits
        self._visible = holder.visible()
        copy = WorkCopy(tree.repo, holder.repo_fd, holder.upper, holder.uid, files, remove)
        self._copy = copy

    def read(self, path: str) -> bytes:
        """See `components.sandbox.base.Session`."""
        return self._copy.read(path)

    def write(self, path: str, data: bytes) -> None:
        """See `components.sandbox.base.Session`."""
        self._copy.write(path, data)

    def delete(self, path: str) -> None:
        """See `components.sandbox.base.Session`."""
        self._copy.delete(path)

    def exists(self, path: str) -> bool:
        """See `components.sandbox.base.Session`."""
        return self._copy.exists(path)

    def files(self) -> list[str]:
        """See `components.sandbox.base.Session`."""
        return self._copy.files()

    def diff(self) -> str:
        """See `components.sandbox.base.Session`."""
        return self._copy.report().text

    def diff_report(self) -> Diff:
        """See `components.sandbox.base.Session`."""
        return self._copy.report()

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
        wall = limits.wall_seconds if timeout is None else timeout
        variables = {**FIXED_ENV, **(env or {})}
        if collect is None:
            return self._run(list(argv), variables, [], stdin, wall, limits)
        folder = secrets.token_hex(16)
        self._holder.make_folder(folder)
        try:
            binds = ["--bind", f"{DISK}/{folder}", f"/{folder}"]
            variables[collect_env] = f"/{folder}"
            result = self._run(list(argv), variables, binds, stdin, wall, limits)
            take(f"/proc/self/fd/{self._holder.disk_fd}/{folder}", collect)
            return result
        finally:
            self._holder.drop_folder(folder)

    def close(self) -> None:
        """See `components.sandbox.base.Session`."""
        self._holder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(
        self,
        argv: list[str],
        variables: Mapping[str, str],
        binds: list[str],
        stdin: bytes,
        wall: float,
        limits: Limits,
    ) -> ExecResult:
        options = [*_NAMESPACES, *self._visible, *binds, "--proc", "/proc", "--dev", "/dev"]
        options += ["--size", str(_SHM_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        options += ["--remount-ro", "/", "--chdir", REPO]
        for name, value in variables.items():
            options += ["--setenv", name, value]
        status_read, status_write = os.pipe()
        options += ["--json-status-fd", str(status_write)]
        try:
            try:
                process = subprocess.Popen(
                    self._holder.command(options, limited(limits, argv, pids=True)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=[*self._holder.pass_fds, status_write],
                    bufsize=0,
                    env={},
                    cwd="/",
                )
            finally:
                os.close(status_write)
            with NamespaceWatch(process, status_read, self._holder.disk_fd, limits) as watch:
                outcome = supervise(process, watch, stdin=stdin, wall_seconds=wall, limits=limits)
                return _result(outcome, watch)
        finally:
            os.close(status_read)


def _result(outcome: Outcome, watch: NamespaceWatch) -> ExecResult:
    exit_code, killed = watch.exit_code(), outcome.killed
    if killed:
        return outcome.result(128 + signal.SIGKILL, killed)
    if exit_code is None:
        raise SandboxError(f"bubblewrap could not run the command: {outcome.stderr.text().strip()}")
    if exit_code == 128 + signal.SIGXCPU:
        killed = "cpu"
    elif exit_code and watch.disk_is_full():
        killed = "disk"
    return outcome.result(exit_code, killed)
