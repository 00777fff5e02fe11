"""Sandboxes of Linux namespaces: no daemon, no image, milliseconds to open.

A session keeps one holder (see `holder.py`): a process that does nothing but own a mount namespace with
a size-limited tmpfs and, on it, the overlay of the repository. Each command then gets namespaces of its
own for processes, IPC, host name and users, and sees of the holder only /repo, /env, /tmp and the system.
"""

import contextlib
import os
import secrets
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.records.errors import SandboxError
from components.sandbox.base import COLLECT_ENV, FIXED_ENV, REPO, ExecResult, Limits, Tree
from components.sandbox.collecting import take
from components.sandbox.config import SandboxConfig
from components.sandbox.holder import DISK, Holder
from components.sandbox.host import prepare
from components.sandbox.limiting import limited
from components.sandbox.namespaces import NamespaceWatch
from components.sandbox.running import Outcome, supervise
from components.sandbox.seccomp import program, sealed
from components.sandbox.workcopy import WorkCopy, WorkCopySession

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
# After the other mounts: what is not mounted writable by then is read-only, the root itself included.
_DEVICES = [
    *(
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        str(_SHM_BYTES),
        "--perms",
        "1777",
        "--tmpfs",
        "/dev/shm",
    ),
    *("--remount-ro", "/dev", "--remount-ro", "/"),
]


class BubblewrapSandbox:
    """Opens sessions in namespaces."""

    name = "bubblewrap"

    def __init__(self, config: SandboxConfig, *, overlay: bool = True) -> None:
        """`overlay`: false makes every session a full copy, as where an overlay is not possible."""
        self._config = config
        self._overlay = overlay

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
        holder = self._holder(tree, uid, limits.disk_mb, overlay=prepare(tree, uid) and self._overlay)
        try:
            return BubblewrapSession(holder, tree, files, remove, limits)
        except BaseException:
            holder.close()
            raise

    def _holder(self, tree: Tree, uid: int | None, disk_mb: int, *, overlay: bool) -> Holder:
        try:
            return Holder(tree, uid, disk_mb, overlay=overlay)
        except SandboxError as error:
            if not overlay or "overlay" not in str(error):
                raise
            self._overlay = False  # this machine has none, as some containers: copy from now on
            return Holder(tree, uid, disk_mb, overlay=False)


class BubblewrapSession(WorkCopySession):
    """See `components.sandbox.base.Session`."""

    def __init__(
        self, holder: Holder, tree: Tree, files: Mapping[str, bytes], remove: Sequence[str], limits: Limits
    ) -> None:
        self._holder = holder
        self._limits = limits
        self._visible = holder.visible()
        super().__init__(WorkCopy(tree.repo, holder.repo_fd, holder.upper, holder.uid, files, remove))

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

    def _run(
        self,
        argv: list[str],
        variables: Mapping[str, str],
        binds: list[str],
        stdin: bytes,
        wall: float,
        limits: Limits,
    ) -> ExecResult:
        options = [*_NAMESPACES, *self._visible, *binds, *_DEVICES, "--chdir", REPO]
        for name, value in variables.items():
            options += ["--setenv", name, value]
        with contextlib.ExitStack() as stack:
            status_read, status_write = os.pipe()
            stack.callback(os.close, status_read)
            with contextlib.ExitStack() as passed:
                passed.callback(os.close, status_write)
                # Not as arguments, which the command could read from /proc/1/cmdline.
                args_fd = sealed(b"".join(os.fsencode(option) + b"\0" for option in options), "arguments")
                passed.callback(os.close, args_fd)
                outer = ["--args", str(args_fd), "--json-status-fd", str(status_write)]
                fds = [args_fd, status_write]
                if program():
                    fds.append(sealed(program(), "filter"))
                    passed.callback(os.close, fds[-1])
                    outer += ["--seccomp", str(fds[-1])]
                process = subprocess.Popen(
                    self._holder.command(outer, limited(limits, argv, pids=True)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    pass_fds=fds,
                    bufsize=0,
                    env={},
                    cwd="/",
                )
            holder = self._holder
            watch = stack.enter_context(
                NamespaceWatch(process, status_read, holder.proc_fd, holder.disk_fd, limits)
            )
            outcome = supervise(process, watch, stdin=stdin, wall_seconds=wall, limits=limits)
            return _result(outcome, watch)


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
