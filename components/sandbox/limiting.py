"""Limits that the kernel keeps for one process and its children."""

from collections.abc import Sequence

from components.sandbox.base import Limits

_OPEN_FILES = 1024
# Threads and allocators reserve far more than they use; what is used is watched, and this ends at once
# what takes memory faster than it can be watched.
_DATA_FACTOR = 2
_ADDRESS_SPACE_FACTOR = 4


def limited(
    limits: Limits, argv: Sequence[str], *, pids: bool, program: str = "/usr/bin/prlimit"
) -> list[str]:
    """A command line that runs `argv` under limits.

    They are set inside, as the last step, since only there do processes count per session; and by a
    program, since root may lack the right to set those of another user's process.

    Args:
        limits: Which.
        argv: The command.
        pids: Whether to limit processes: only where the user that runs it is the session's alone.
        program: util-linux's prlimit.
    """
    disk, memory, cpu = limits.disk_mb << 20, limits.memory_mb << 20, int(limits.cpu_seconds) + 2
    values: dict[str, int | str] = {
        "core": 0,
        "cpu": f"{cpu}:{cpu + 1}",  # the first ends it by a signal that says why
        "fsize": disk,
        "data": memory * _DATA_FACTOR,
        "as": memory * _ADDRESS_SPACE_FACTOR,
        "nofile": _OPEN_FILES,
        "memlock": 1 << 20,
    }
    if pids:
        values["nproc"] = limits.pids + 1  # process 1 counts, and is not the caller's
    return [program, *(f"--{name}={value}" for name, value in values.items()), "--", *argv]
