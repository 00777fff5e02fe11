"""One command in a running container, drained and watched until all of it is gone."""

import contextlib
import os
import select
import signal
import socket
import stat
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from docker import APIClient
from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from components.records.errors import SandboxError
from components.sandbox.base import REPO, TIMED_OUT, ExecResult, Killed, Limits
from components.sandbox.capture import HeadTail
from components.sandbox.limiting import limited
from components.sandbox.running import FLOOD_FACTOR

AGENT = 65210
"""The user that commands run as, in the container and so on the host, where nothing else uses it."""

SPARE_PIDS = 24
"""Beside a command's own processes the container holds process 1, the supervisor, and the threads of the
container runtime's launcher."""

SUPERVISOR = 'exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); code=$?; kill -s KILL -- -1; exit $code'
"""Runs as the container's root, out of reach of the command, which `setpriv` makes another user. When the
command ends it kills every process but process 1 and itself; the kernel does that in one step, so that
no fork escapes. `kill` is the shell's own and needs no new process."""

_TICK = 0.25
_CHUNK = 1 << 18
_GRACE = 10.0
_FORKING_SECONDS = 0.5
_FRAME = 8


class _Frames:
    """Splits docker's stream into stdout and stderr as it arrives."""

    def __init__(self, limits: Limits) -> None:
        self.out, self.err = HeadTail(limits.output_bytes), HeadTail(limits.output_bytes)
        self._header = b""
        self._left = 0

    def add(self, data: bytes) -> None:
        while data:
            if not self._left:
                need = _FRAME - len(self._header)
                self._header, data = self._header + data[:need], data[need:]
                if len(self._header) == _FRAME:
                    self._left = int.from_bytes(self._header[4:], "big")
                    self._kept = self.err if self._header[0] == 2 else self.out
                    self._header = b""
                continue
            self._kept.add(data[: self._left])
            taken = min(self._left, len(data))
            self._left -= taken
            data = data[taken:]


class _Watch:
    """Asks the daemon, in a thread since that takes up to a second, whether a limit is broken."""

    def __init__(self, container: Container, limits: Limits, upper: str | None) -> None:
        self._container, self._limits, self._upper = container, limits, upper
        self._broken: Killed = ""
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def check(self) -> Killed:
        """What was found so far. The first call begins the watch, so that short commands pay nothing."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name=f"watch {self._container.name}", daemon=True
            )
            self._thread.start()
        if self._upper and disk_kb(self._upper) > self._limits.disk_mb * 1024:
            return "disk"
        return self._broken

    def close(self) -> None:
        """End the watch."""
        self._done.set()

    def _run(self) -> None:
        before: float | None = None
        full_since: float | None = None
        while not self._done.is_set():
            try:
                cpu, pids = self._stats()
            except (DockerException, RequestException, KeyError):
                return  # the container is gone, which the command's stream tells as well
            before = cpu if before is None else before
            if _out_of_memory(self._container):
                self._broken = "memory"
            if cpu - before > self._limits.cpu_seconds:
                self._broken = "cpu"
            if pids < self._limits.pids + 2:  # process 1 and the supervisor
                full_since = None
            elif full_since is None:
                full_since = time.monotonic()
            elif time.monotonic() - full_since > _FORKING_SECONDS:
                self._broken = "pids"
            self._done.wait(_TICK)

    def _stats(self) -> tuple[float, int]:
        stats = self._container.stats(stream=False, one_shot=True)
        if not isinstance(stats, dict):
            raise KeyError("no statistics")
        return stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9, int(
            stats["pids_stats"].get("current", 0)
        )


def disk_kb(folder: str) -> int:
    """What a container's own layer takes on the disk."""
    total = 0
    stack = [folder]
    while stack:
        with contextlib.suppress(OSError), os.scandir(stack.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    total += found.st_blocks // 2
                    if stat.S_ISDIR(found.st_mode):
                        stack.append(entry.path)
    return total


def run_supervised(
    api: APIClient,
    container: Container,
    argv: Sequence[str],
    *,
    variables: Mapping[str, str],
    stdin: bytes,
    wall_seconds: float,
    limits: Limits,
    upper: str | None,
) -> ExecResult:
    """Run a command as the agent's user and end all that it leaves behind.

    Args:
        api: The daemon.
        container: Running; nothing else runs in it.
        argv: The command.
        variables: All of its environment.
        stdin: What it reads.
        wall_seconds: When to end it.
        limits: What to keep beside the container's own limits.
        upper: The container's own layer on this machine, if it can be seen from here.
    """
    agent = ["/usr/bin/setpriv", f"--reuid={AGENT}", f"--regid={AGENT}", "--clear-groups", "--no-new-privs"]
    clean = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    line = ["/bin/sh", "-c", SUPERVISOR, "sh", *agent, "--", *clean, *limited(limits, argv, pids=False)]
    watch = _Watch(container, limits, upper)
    created = api.exec_create(str(container.id), line, stdin=bool(stdin), user="0", workdir=REPO)["Id"]
    started = time.monotonic()
    frames, killed = _drain(
        container, api.exec_start(created, socket=True), watch, stdin, wall_seconds, limits
    )
    seconds = time.monotonic() - started
    exit_code = api.exec_inspect(created)["ExitCode"]
    if not killed and exit_code is None:
        raise SandboxError(f"container {container.name} was lost")
    killed = killed or _ended_by(exit_code, container, limits, upper)
    if _out_of_memory(container):
        container.restart(timeout=0)  # or the next command would seem to have run out of it too
    if killed:
        exit_code = TIMED_OUT if killed == "wall" else exit_code or 137
    return ExecResult(
        exit_code=exit_code,
        stdout=frames.out.text(),
        stderr=frames.err.text(),
        timed_out=killed == "wall",
        killed=killed,
        seconds=seconds,
        truncated=frames.out.truncated or frames.err.truncated,
    )


def _ended_by(exit_code: int, container: Container, limits: Limits, upper: str | None) -> Killed:
    """The limit that made a command fail by itself, if one did."""
    if exit_code and _out_of_memory(container):
        return "memory"
    if exit_code == 128 + signal.SIGXCPU:
        return "cpu"
    if exit_code and upper and disk_kb(upper) > limits.disk_mb * 1024:
        return "disk"
    return ""


class _Killer:
    """Ends everything in a container but its first process.

    In a thread, because its stream must be drained meanwhile: the daemon reports the end of no process
    of a container while the output of another of them is stuck.
    """

    def __init__(self, container: Container) -> None:
        self._container = container
        self._thread = threading.Thread(target=self._run, name=f"kill {container.name}", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until all is gone."""
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(DockerException, RequestException):
            killer = ["/bin/sh", "-c", "kill -s KILL -- -1"]
            self._container.exec_run(killer, user="0", detach=True)
            if _alone(self._container):
                return
        # They left no room for one more process: start afresh, with the same files.
        with contextlib.suppress(DockerException, RequestException):
            self._container.restart(timeout=0)


def _alone(container: Container) -> bool:
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        container.reload()
        if container.status != "running":
            return False
        if len(container.top()["Processes"]) <= 1:
            return True
        time.sleep(0.05)
    return False


def _out_of_memory(container: Container) -> bool:
    container.reload()
    return bool(container.attrs["State"].get("OOMKilled"))


def _drain(
    container: Container, stream: Any, watch: _Watch, stdin: bytes, wall_seconds: float, limits: Limits
) -> tuple[_Frames, Killed]:
    link: socket.socket = getattr(stream, "_sock", stream)  # docker gives a file around it
    frames = _Frames(limits)
    flood = max(limits.output_bytes, 4096) * FLOOD_FACTOR
    started = time.monotonic()
    deadline = started + wall_seconds
    next_check = started + _TICK
    killed: Killed = ""
    killer: _Killer | None = None
    pending = memoryview(stdin)
    link.setblocking(False)
    try:
        while True:
            now = time.monotonic()
            until = deadline if killed else min(deadline, next_check)
            ready, writable, _ = select.select([link], [link] if pending else [], [], max(until - now, 0))
            if writable:
                try:
                    pending = pending[link.send(pending[:_CHUNK]) :]
                except (BrokenPipeError, ConnectionResetError):
                    pending = pending[:0]
                if not pending:
                    with contextlib.suppress(OSError):
                        link.shutdown(socket.SHUT_WR)
            if ready:
                data = link.recv(_CHUNK)
                if not data:
                    return frames, killed
                frames.add(data)
            now = time.monotonic()
            if killed:
                if now > deadline:
                    raise SandboxError(f"container {container.name}: its processes do not die")
                continue
            if frames.out.total + frames.err.total > flood:
                killed = "output"
            elif now >= deadline:
                killed = "wall"
            elif now >= next_check:
                killed = watch.check()
                next_check = time.monotonic() + _TICK
            if killed:
                killer = _Killer(container)
                deadline = time.monotonic() + _GRACE
    finally:
        watch.close()
        if killer:
            killer.wait()
        with contextlib.suppress(OSError):
            link.close()
        close = getattr(stream, "close", None)
        if close:
            with contextlib.suppress(OSError):
                close()
