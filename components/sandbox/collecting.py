"""Take the files that a command left in a folder, trusting nothing about them."""

import os
import stat
from pathlib import Path

_MAX_FILES = 10_000


def take(source: str, target: Path) -> None:
    """Copy the regular files of a folder that nobody writes to any more; links and devices stay.

    Args:
        source: A folder that hostile code has filled.
        target: An empty folder of ours.
    """
    target.mkdir(parents=True, exist_ok=True)
    stack = [""]
    count = 0
    while stack:
        folder = stack.pop()
        with os.scandir(f"{source}/{folder}") as entries:
            for entry in entries:
                count += 1
                mode = entry.stat(follow_symlinks=False).st_mode
                path = folder + entry.name
                if count > _MAX_FILES:
                    return
                if stat.S_ISDIR(mode):
                    (target / path).mkdir()
                    stack.append(path + "/")
                elif stat.S_ISREG(mode):
                    (target / path).write_bytes(Path(source, path).read_bytes())
