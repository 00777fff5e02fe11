"""What the processes below a /proc folder use, from one small file each."""

import os
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


class Usage(NamedTuple):
    """Sums over processes."""

    processes: int
    cpu_seconds: float
    rss_kb: int


def usage(proc: str, pids: list[str]) -> Usage:
    """What these processes, and the children they have waited for, use."""
    count, ticks, pages = 0, 0, 0
    for pid in pids:
        try:
            text = Path(proc, pid, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # gone since it was listed
        # The second field is a name that may hold anything but ends at the last bracket.
        fields = text.rpartition(")")[2].split()
        count += int(fields[17])  # threads: the kernel's limit counts them
        ticks += sum(int(value) for value in fields[11:15])
        pages += int(fields[21])
    return Usage(count, ticks / _TICKS, pages * _PAGE_KB)


def proportional_kb(proc: str, pids: list[str]) -> int:
    """Memory with each shared page counted once. Slower, so asked only when the plain sum is too large."""
    total = 0
    for pid in pids:
        try:
            lines = Path(proc, pid, "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss:", "Swap:")))
    return total
