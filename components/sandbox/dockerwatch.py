"""Watching what a container uses, and ending all that runs in it."""

import contextlib
import os
import stat
import threading
import time

from docker.errors import DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from components.sandbox.base import Killed, Limits

TICK = 0.25
"""Seconds between two looks."""

_FORKING_SECONDS = 0.5


class Watch:
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
            if cpu - before > self._limits.cpu_seconds:
                self._broken = "cpu"
            if pids < self._limits.pids + 2:  # process 1 and the supervisor
                full_since = None
            elif full_since is None:
                full_since = time.monotonic()
            elif time.monotonic() - full_since > _FORKING_SECONDS:
                self._broken = "pids"
            self._done.wait(TICK)

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


class Killer:
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
