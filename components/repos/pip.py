"""pip, as far as it is used: pinned wheels into a folder, kept so that a second time needs no network."""

import hashlib
import json
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from components.records.base import canonical_json
from components.records.errors import ConfigError, InfrastructureError, OutOfSpaceError
from components.repos.tree import keep, staging
from components.store.workspace import Workspace

_NO_NETWORK = (
    "NewConnectionError", "Failed to establish a new connection", "Temporary failure in name resolution",
    "Name or service not known", "ReadTimeout", "ConnectTimeout", "Max retries exceeded",
    "ConnectionResetError", "SSLError", "ProxyError",
)  # fmt: skip


class Pip:
    """Installs into virtual environments under construction, one at a time per workspace."""

    def __init__(self, workspace: Workspace, *, key: str, seconds: float) -> None:
        """`key`: where the requirements stand in the parameters; `seconds`: the longest one call may take."""
        self.workspace, self.key, self.seconds = workspace, key, seconds
        self._wheels = workspace.cache / "wheels"
        self._locks = workspace.cache / "locks"

    def known_lock(self, requirements: Sequence[str]) -> tuple[str, ...] | None:
        """What these requirements were resolved to before."""
        path = self._lock_path(requirements)
        if not path.exists():
            return None
        return tuple(json.loads(path.read_text()))

    def remember_lock(self, requirements: Sequence[str], lock: Sequence[str]) -> None:
        """Keep a resolution, so that it is asked for once."""
        keep(self._lock_path(requirements), json.dumps(list(lock)))

    def install(self, environment: Path, requirements: Sequence[str], *, locked: bool) -> None:
        """Install wheels into a virtual environment.

        With `locked` the requirements are all there is to install, and kept wheels serve without network.
        """
        extra = ["--no-deps"] if locked else []
        with staging(self.workspace, self._wheels, "wheels") as fresh:
            if locked and self._unpack(environment, requirements, self._wheels, extra).returncode == 0:
                return
            # It says that the network failed only when it tries again.
            download = ("download", "--retries=2", "--only-binary=:all:", "--dest", str(fresh))
            self._check(self._run(*download, *extra, *requirements), requirements)
            self._check(self._unpack(environment, requirements, fresh, extra), requirements)
            for wheel in fresh.glob("*.whl"):
                wheel.rename(self._wheels / wheel.name)

    def _unpack(
        self, environment: Path, requirements: Sequence[str], wheels: Path, extra: Sequence[str]
    ) -> "subprocess.CompletedProcess[str]":
        python = environment / "bin" / "python"
        offline = ["--no-index", "--find-links", str(wheels), "--only-binary=:all:", "--no-compile"]
        return self._run("--python", str(python), "install", *offline, *extra, *requirements)

    def _run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
        command = [sys.executable, "-m", "pip", *quiet, *arguments]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=self.seconds)
        except subprocess.TimeoutExpired as error:
            raise InfrastructureError(
                f"{self.key}: pip took more than {self.seconds:g} s; raise install_seconds or try again"
            ) from error

    def _check(self, done: "subprocess.CompletedProcess[str]", requirements: Sequence[str]) -> None:
        if done.returncode == 0:
            return
        lines = done.stderr.strip().splitlines() or ["no message"]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        said = _shorten((errors or lines)[-1])
        if "No space left on device" in done.stderr:
            raise OutOfSpaceError(f"{self.key}: no space left on the device; free some and run again")
        if any(sign in done.stderr for sign in _NO_NETWORK):
            raise InfrastructureError(f"{self.key}: the package index cannot be reached; pip says: {said}")
        raise ConfigError(
            self.key, ", ".join(requirements), "pinned wheels that install together", f"pip says: {said}"
        )

    def _lock_path(self, requirements: Sequence[str]) -> Path:
        request = canonical_json([sysconfig.get_platform(), sys.version, list(requirements)])
        return self._locks / f"{hashlib.sha256(request.encode()).hexdigest()}.json"


def _shorten(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}…"
