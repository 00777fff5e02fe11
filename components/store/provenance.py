"""Which code on which machine."""

import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from components.store.digests import sha256_file, sha256_json

_HERE = Path(__file__).resolve()
_PROJECT = _HERE.parents[2]
_LOCKS = ("requirements.lock", "uv.lock", "pylock.toml")


@functools.cache
def code_commit() -> tuple[str, bool]:
    """The commit of this code and whether it has been changed since; ("", False) outside of git."""
    # The package may be installed below somebody else's repository: only one that tracks this file counts.
    if _git("ls-files", "--error-unmatch", str(_HERE)) is None:
        return "", False
    return (_git("rev-parse", "HEAD") or "").strip(), bool(_git("status", "--porcelain"))


@functools.cache
def lock_digest() -> str:
    """Digest of the project's lock file, or of what is installed when there is none."""
    for name in _LOCKS:
        if (_PROJECT / name).is_file():
            return sha256_file(_PROJECT / name)
    return sha256_json([*sorted(f"{d.name}=={d.version}" for d in importlib.metadata.distributions())])


@functools.cache
def machine() -> str:
    """One line about this machine."""
    cores = len(os.sched_getaffinity(0))
    return f"{platform.system()} {platform.machine()}, {cores} cores, Python {platform.python_version()}"


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(_PROJECT), *arguments], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
