"""A full disk is told in one line, whoever meets it first."""

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.records.errors import FlywheelError, OutOfSpaceError

_FULL = {errno.ENOSPC, errno.EDQUOT}
_SAID = ("No space left on device", "os error 28")
"""By libraries that write with code of their own, as torch and safetensors do."""


@contextmanager
def no_space_named(*paths: Path) -> Iterator[None]:
    """Turn a full device, met by anything inside, into an `OutOfSpaceError` that says which of the paths."""
    try:
        yield
    except OutOfSpaceError:
        raise
    except Exception as error:
        if not is_no_space(error):
            raise
        full = error.filename if isinstance(error, OSError) else None
        raise OutOfSpaceError(
            f"no space left on the device of {full or _fullest(*paths, Path(tempfile.gettempdir()))}: free some and "
            "run the same command again; finished work is kept and nothing half-written was published"
        ) from error


def is_no_space(error: BaseException) -> bool:
    """True for a full device or an exhausted quota."""
    if isinstance(error, FlywheelError):
        return isinstance(error, OutOfSpaceError)
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return any(text in str(error) for text in _SAID)


def _fullest(*paths: Path) -> Path:
    def free(path: Path) -> int:
        while not path.exists():
            path = path.parent
        return shutil.disk_usage(path).free

    return min(paths, key=free)
