"""One command in a running container, drained and watched until all of it is gone."""

import contextlib
import selectors
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from docker import APIClient
from docker.models.containers import Container

from components.records.errors import SandboxError
from components.sandbox.base import REPO, TIMED_OUT, ExecResult, Killed, Limits
from components.sandbox.capture import HeadTail
from components.sandbox.dockerwatch import TICK, Killer, Watch, disk_kb
from components.sandbox.limiting import limited
from components.sandbox.running import FLOOD_FACTOR

AGENT = 65210
"""The user that commands run as, in the container and so on the host, where nothing else uses it."""

SPARE_PIDS = 24
"""Beside a command's own processes the container holds process 1, the supervisor, and the threads of the
container runtime's launcher."""

SUPERVISOR = """
exec 3>&2 2>/dev/null
events=/sys/fs/cgroup/memory.events
[ -r $events ] || events=/sys/fs/cgroup/memory/memory.oom_control
count() { while read -r name number; do [ "$name" = oom_kill ] && return; done <$events; number=0; }
count; before=$number
(exec 2>&3 3>&-; exec "$@")
code=$?
kill -s KILL -- -1
count
[ $code != 0 ] && [ "$number" != "$before" ] && code=199
exit $code
"""
"""Runs as the container's root, out of reach of the command, which `setpriv` makes another user. When the
command ends it kills every process but process 1 and itself; the kernel does that in one step, so that
no fork escapes. `kill` is the shell's own and needs no new process. Then it says whether the kernel has
ended a process for want of memory, which not every daemon learns."""

_OUT_OF_MEMORY = 199
_CHUNK = 1 << 18
_GRACE = 60.0
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
    watch = Watch(container, limits, upper)
    created = api.exec_create(str(container.id), line, stdin=bool(stdin), user="0", workdir=REPO)["Id"]
    started = time.monotonic()
    frames, killed = _drain(
        container, api.exec_start(created, socket=True), watch, stdin, wall_seconds, limits
    )
    seconds = time.monotonic() - started
    found = api.exec_inspect(created)
    exit_code = found["ExitCode"]
    if not killed and (exit_code is None or not found["Pid"]):
        raise SandboxError(f"container {container.name} was lost: {frames.out.text().strip()}")
    killed = killed or _ended_by(exit_code, limits, upper)
    if killed:
        exit_code = TIMED_OUT if killed == "wall" else 128 + signal.SIGKILL
    return ExecResult(
        exit_code=exit_code,
        stdout=frames.out.text(),
        stderr=frames.err.text(),
        timed_out=killed == "wall",
        killed=killed,
        seconds=seconds,
        truncated=frames.out.truncated or frames.err.truncated,
    )


def _ended_by(exit_code: int, limits: Limits, upper: str | None) -> Killed:
    """The limit that made a command fail by itself, if one did."""
    if exit_code == _OUT_OF_MEMORY:
        return "memory"
    if exit_code == 128 + signal.SIGXCPU:
        return "cpu"
    if exit_code and upper and disk_kb(upper) > limits.disk_mb * 1024:
        return "disk"
    return ""


def _drain(
    container: Container, stream: Any, watch: Watch, stdin: bytes, wall_seconds: float, limits: Limits
) -> tuple[_Frames, Killed]:
    link: socket.socket = getattr(stream, "_sock", stream)  # docker gives a file around it
    frames = _Frames(limits)
    flood = max(limits.output_bytes, 4096) * FLOOD_FACTOR
    started = time.monotonic()
    deadline = started + wall_seconds
    next_check = started + TICK
    killed: Killed = ""
    killer: Killer | None = None
    pending = memoryview(stdin)
    link.setblocking(False)
    selector = selectors.DefaultSelector()
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    selector.register(link, both if pending else selectors.EVENT_READ)
    try:
        while True:
            now = time.monotonic()
            until = deadline if killed else min(deadline, next_check)
            events = selector.select(max(until - now, 0))
            ready = events[0][1] if events else 0
            if ready & selectors.EVENT_WRITE:
                try:
                    pending = pending[link.send(pending[:_CHUNK]) :]
                except (BrokenPipeError, ConnectionResetError):
                    pending = pending[:0]
                if not pending:
                    selector.modify(link, selectors.EVENT_READ)
                    with contextlib.suppress(OSError):
                        link.shutdown(socket.SHUT_WR)
            if ready & selectors.EVENT_READ:
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
                next_check = time.monotonic() + TICK
            if killed:
                killer = Killer(container)
                deadline = time.monotonic() + _GRACE
    finally:
        selector.close()
        watch.close()
        if killer:
            killer.wait()
        with contextlib.suppress(OSError):
            link.close()
        close = getattr(stream, "close", None)
        if close:
            with contextlib.suppress(OSError):
                close()
