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
        if error.errno in _FULL:
            raise out_of_space(path) from error
        raise


def out_of_space(path: Path) -> OutOfSpaceError:
    """The error, with what to do about it."""
    return OutOfSpaceError(
        f"no space left on the device of {path}: free some and run the same command again; "
        "finished work is kept and nothing half-written was published"
    )
