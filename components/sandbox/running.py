"""Run one process to its end under limits, in bounded memory, without polling faster than it needs."""

import contextlib
import os
import select
import selectors
import subprocess
import time
from typing import IO, NamedTuple, Protocol

from components.records.errors import SandboxError
from components.sandbox.base import TIMED_OUT, ExecResult, Killed, Limits
from components.sandbox.capture import HeadTail

FLOOD_FACTOR = 256
"""A command that writes this many times what is kept of its output is ended: nobody will read it."""

_CHUNK = 1 << 18
_FIRST_TICK, _LAST_TICK = 0.02, 0.1
_GRACE = 60.0


class Watch(Protocol):
    """What looks after a running process."""

    def check(self) -> Killed:
        """The limit that is broken, if one is."""
        ...

    def kill(self) -> None:
        """End the process and everything it started; nothing when all is gone."""
        ...


class Outcome(NamedTuple):
    """What was seen of a process."""

    returncode: int
    """As `subprocess` has it: negative when a signal ended it."""
    stdout: HeadTail
    stderr: HeadTail
    killed: Killed
    seconds: float

    def result(self, exit_code: int, killed: Killed) -> ExecResult:
        """The same for callers of a session, who count signals from 128 upwards."""
        if killed == "wall":
            exit_code = TIMED_OUT
        return ExecResult(
            exit_code=128 - exit_code if exit_code < 0 else exit_code,
            stdout=self.stdout.text(),
            stderr=self.stderr.text(),
            timed_out=killed == "wall",
            killed=killed,
            seconds=self.seconds,
            truncated=self.stdout.truncated or self.stderr.truncated,
        )


class _Pipes:
    """The two ends that we read and the one that we write."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise TypeError("the process needs three pipes")
        self.stdin: IO[bytes] = process.stdin
        self.kept = {
            process.stdout: HeadTail(limits.output_bytes),
            process.stderr: HeadTail(limits.output_bytes),
        }
        self.selector = selectors.DefaultSelector()
        self._pending = memoryview(stdin)
        for stream in (self.stdin, *self.kept):
            os.set_blocking(stream.fileno(), False)
        for stream in self.kept:
            self.selector.register(stream, selectors.EVENT_READ)
        if stdin:
            self.selector.register(self.stdin, selectors.EVENT_WRITE)
        else:
            self.stdin.close()

    @property
    def total(self) -> int:
        return sum(kept.total for kept in self.kept.values())

    def handle(self, stream: IO[bytes]) -> None:
        """The stream is ready."""
        if stream is self.stdin:
            with contextlib.suppress(BlockingIOError):
                try:
                    self._pending = self._pending[os.write(stream.fileno(), self._pending[:_CHUNK]) :]
                except BrokenPipeError:
                    self._pending = self._pending[:0]
            done = not self._pending
        else:
            done = not self._read(stream)
        if done:
            self.selector.unregister(stream)
            stream.close()

    def drain(self) -> None:
        """Take what is left in the pipes, which is at most what they hold."""
        for stream in self.kept:
            with contextlib.suppress(BlockingIOError):
                for _ in range(64):
                    if stream.closed or not self._read(stream):
                        break

    def close(self) -> None:
        self.selector.close()
        for stream in (self.stdin, *self.kept):
            with contextlib.suppress(OSError):
                stream.close()

    def _read(self, stream: IO[bytes]) -> bool:
        data = os.read(stream.fileno(), _CHUNK)
        self.kept[stream].add(data)
        return bool(data)


def supervise(
    process: subprocess.Popen[bytes], watch: Watch, *, stdin: bytes, wall_seconds: float, limits: Limits
) -> Outcome:
    """Feed, drain and watch a process until it is gone; then end what it left behind.

    Args:
        process: Started with three pipes, unbuffered.
        watch: Asked at growing intervals whether a limit is broken.
        stdin: What to write to it.
        wall_seconds: When to end it.
        limits: For the output.

    Raises:
        SandboxError: It would not die.
    """
    started = time.monotonic()
    deadline = started + wall_seconds
    flood = max(limits.output_bytes, 4096) * FLOOD_FACTOR
    tick = _FIRST_TICK
    next_check = started + tick
    killed: Killed = ""
    exited = os.pidfd_open(process.pid)
    pipes = _Pipes(process, stdin, limits)
    try:
        pipes.selector.register(exited, selectors.EVENT_READ)
        gone = False
        while not gone:
            now = time.monotonic()
            if killed and now >= deadline:
                raise SandboxError(f"process {process.pid} does not die")
            until = deadline if killed else min(next_check, deadline)
            for key, _ in pipes.selector.select(max(until - now, 0)):
                if key.fd == exited:
                    gone = True
                elif not isinstance(key.fileobj, int):
                    pipes.handle(key.fileobj)  # type: ignore[arg-type]
            now = time.monotonic()
            if gone or killed:
                continue
            if pipes.total > flood:
                killed = "output"
            elif now >= deadline:
                killed = "wall"
            elif now >= next_check:
                tick = min(tick * 1.5, _LAST_TICK)
                next_check = now + tick
                killed = watch.check()
            if killed:
                deadline = now + _GRACE
                watch.kill()
        returncode = process.wait()
        watch.kill()
        pipes.drain()
        out, err = pipes.kept.values()
        return Outcome(returncode, out, err, killed, time.monotonic() - started)
    finally:
        os.close(exited)
        pipes.close()


def readable(fd: int, milliseconds: int) -> bool:
    """Does a file become readable, or reach its end, in time?"""
    # poll, since select refuses the high numbers that a busy process has.
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(milliseconds))
