"""git and DVC in the data repository: one publisher at a time, with a time-out, whoever was killed before."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.records.errors import InfrastructureError, OutOfSpaceError

_IDENTITY = {"NAME": "SWE Flywheel", "EMAIL": "flywheel@localhost"}


class Commands:
    """Runs commands in one repository."""

    def __init__(self, folder: Path, timeout: float) -> None:
        self._folder, self._timeout = folder, timeout
        self._lock: int | None = None

    @contextmanager
    def exclusive(self, path: Path) -> Iterator[None]:
        """Hold the repository. Commands inherit the lock, so it is free only when they have ended too."""
        path.parent.mkdir(parents=True, exist_ok=True)
        working = path.with_suffix(".working")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._lock = lock
            if working.exists():  # the last holder was killed, and so was all that it had started
                self._clear_stale_locks()
            working.touch()
            yield
            working.unlink()
        finally:
            self._lock = None
            os.close(lock)

    def git(self, *arguments: str) -> str:
        """Run git and return what it prints."""
        settings = (
            "commit.gpgsign=false",
            "tag.gpgsign=false",
            "core.hooksPath=/dev/null",
            "gc.autoDetach=false",
        )
        options = [part for setting in settings for part in ("-c", setting)]
        return self._run(["git", *options, *arguments])

    def dvc(self, *arguments: str) -> str:
        """Run DVC, which waits for its own lock."""
        return self._run([sys.executable, "-m", "dvc", "--wait-for-lock", *arguments])

    def forget_remote_index(self) -> None:
        """Make DVC look at the remote, not at what it remembers of it."""
        shutil.rmtree(self._site_cache, ignore_errors=True)

    @property
    def _site_cache(self) -> Path:
        return self._folder / ".dvc" / "tmp" / "site"

    def _clear_stale_locks(self) -> None:
        git = self._folder / ".git"
        stale = [*git.glob("*.lock"), *git.glob("refs/**/*.lock")]
        for path in [*stale, self._folder / ".dvc" / "tmp" / "rwlock"]:
            path.unlink(missing_ok=True)

    def _run(self, command: list[str]) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(self._site_cache),
            "GIT_TERMINAL_PROMPT": "0",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in _IDENTITY.items()
            },
        }
        process = subprocess.Popen(
            command,
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            pass_fds=[self._lock] if self._lock is not None else [],
        )
        try:
            output, errors = process.communicate(timeout=self._timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise InfrastructureError(f"{_short(command)}: no answer in {self._timeout:g} s") from error
            raise
        if process.returncode:
            said = [line for line in (errors + output).splitlines() if line.strip()]
            if any("No space left on device" in line for line in said):
                raise OutOfSpaceError(
                    f"{_short(command)}: no space left on the device of {self._folder} or of the remote: "
                    "free some and run the same command again"
                )
            reason = next(
                (line for line in said if "ERROR" in line or "fatal" in line), said[-1] if said else ""
            )
            raise InfrastructureError(f"{_short(command)} in {self._folder} failed: {reason.strip()}")
        return output


def _short(command: list[str]) -> str:
    words = [
        word for word in command if not word.startswith("-") and "=" not in word and word != sys.executable
    ]
    return " ".join(words[:3])
