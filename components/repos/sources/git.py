"""One commit of a git repository; its history is not kept, so no fix can be read from it."""

import os
import shutil
import subprocess
from pathlib import Path

from components.records.errors import ConfigError, InfrastructureError
from components.records.repository import Source

_SECONDS = 600
# No prompt that waits for ever, no large-file download, no transport that runs a command, no hook.
_ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
_OPTIONS = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
_NOT_SERVED = (
    "not our ref",
    "remote ref",
    "unadvertised",
    "not a tree",
    "unable to read tree",
    "did not match any",
)
_GONE = ("not found", "does not exist", "does not appear to be a git repository", "Authentication failed")


def fetch_git(source: Source, key: str, target: Path) -> None:
    """Check the pinned commit out into `target`, without `.git`."""
    target.mkdir(parents=True, exist_ok=True)
    if not source.pin:
        heads = _git(target, "ls-remote", "--", source.location, "HEAD", key=key)
        head = heads.split()[0] if heads else "-"
        raise ConfigError(f"{key}.pin", "", f"a full commit, e.g. {head} (HEAD)")
    _git(target, "init", "--quiet", key=key)
    try:
        _git(target, "fetch", "--quiet", "--depth=1", "--no-tags", "--", source.location, source.pin, key=key)
    except _NotServedError:
        # Some servers only give what a branch or tag names.
        _git(target, "fetch", "--quiet", "--", source.location, "+refs/*:refs/fetched/*", key=key)
    try:
        _git(target, "checkout", "--quiet", "--detach", source.pin, key=key)
    except _NotServedError as error:
        raise ConfigError(
            f"{key}.pin", source.pin, f"a commit of {source.location}", f"git says: {error}"
        ) from error
    shutil.rmtree(target / ".git")


class _NotServedError(InfrastructureError):
    """The server has the repository and does not give this commit."""


def _git(folder: Path, *arguments: str, key: str) -> str:
    if shutil.which("git") is None:
        raise InfrastructureError("git is not installed; needed for sources of kind git")
    command = ["git", *_OPTIONS, *arguments]
    environment = {**os.environ, **_ENVIRONMENT}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise InfrastructureError(f"{key}: git {arguments[0]} took more than {_SECONDS} s") from error
    if done.returncode == 0:
        return done.stdout
    said = " ".join(done.stderr.strip().splitlines()[-2:]) or f"exit code {done.returncode}"
    if any(text in done.stderr for text in _NOT_SERVED):
        raise _NotServedError(said)
    if any(text in done.stderr for text in _GONE):
        where = arguments[arguments.index("--") + 1] if "--" in arguments else "-"
        raise ConfigError(f"{key}.location", where, "a git repository that can be read", f"git says: {said}")
    raise InfrastructureError(f"{key}: git {arguments[0]} failed: {said}")
