"""A full disk is told in one line, whoever meets it first."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.records.errors import OutOfSpaceError

_FULL = {errno.ENOSPC, errno.EDQUOT}


@contextmanager
def no_space_named(path: Path) -> Iterator[None]:
    """Turn "no space left on device" from anything inside into an `OutOfSpaceError` about `path`."""
    try:
        yield
    except OSError as error:
        if not is_no_space(error):
            raise
        raise OutOfSpaceError(
            f"no space left on the device of {error.filename or path}: free some and run the same command "
            "again; finished work is kept and nothing half-written was published"
        ) from error


def is_no_space(error: BaseException) -> bool:
    """True for a full device or an exhausted quota."""
    return isinstance(error, OutOfSpaceError) or (isinstance(error, OSError) and error.errno in _FULL)
