"""Take the files that a command left in a folder, trusting nothing about them."""

import contextlib
import os
import shutil
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
    left = _MAX_FILES
    while stack and left > 0:
        folder = stack.pop()
        # Errors: folders so deep that no path names them, or closed to us. Nobody's result is in there.
        with contextlib.suppress(OSError), os.scandir(f"{source}/{folder}") as entries:
            for entry in entries:
                left -= 1
                mode = entry.stat(follow_symlinks=False).st_mode
                path = folder + entry.name
                if stat.S_ISDIR(mode):
                    (target / path).mkdir()
                    stack.append(path + "/")
                elif stat.S_ISREG(mode) and left > 0:
                    shutil.copyfile(f"{source}/{path}", target / path, follow_symlinks=False)
