"""Who owns a session: a process, named so that a later one with the same pid is not mistaken for it."""

import os
from pathlib import Path


def this_process() -> str:
    """`boot:pid namespace:pid:start time` of this process."""
    return f"{_machine()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Did this owner live on this machine, and is it dead? Owners elsewhere are never called gone."""
    try:
        boot, namespace, pid, started = owner.split(":")
        if f"{boot}:{namespace}" != _machine():
            # Another boot of the same machine cannot be told from another machine that shares our daemon.
            return False
        return _started(int(pid)) != int(started)
    except ValueError:
        return False


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 -- a magic link


def _started(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except (OSError, IndexError):
        return -1
