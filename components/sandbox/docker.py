"""Sandboxes of docker containers: one container per session, its layer the copy-on-write of /repo.

Commands run by `docker exec` under a small supervisor (see `dockerexec.py`) that root owns and they do
not. Nothing outlives its owner for long: containers carry the process that opened them as a label, and
`collect_garbage` removes, by that label only, those whose owner is dead.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.types import Mount, Ulimit
from requests.exceptions import RequestException

from components.records.errors import SandboxError
from components.sandbox import owner
from components.sandbox.base import COLLECT_ENV, ENV, FIXED_ENV, REPO, Diff, ExecResult, Limits, Tree
from components.sandbox.config import SandboxConfig
from components.sandbox.diffs import Content
from components.sandbox.dockerexec import AGENT, SPARE_PIDS, run_supervised
from components.sandbox.dockerfiles import ContainerFiles
from components.sandbox.dockerimage import collect_images, tree_image
from components.sandbox.host import check, python_prefixes

SESSION_LABEL = "flywheel.session"
OWNER_LABEL = "flywheel.owner"

_CALL_SECONDS = 120
_POOL = 32
_SHM = "64m"
_CPU_SHARES = 256  # a quarter of the usual: the daemon, which ends them, comes first
# It inherits every process whose parent dies, and with SIGCHLD ignored the kernel buries them for it;
# the dead would count against the limit on processes.
_FIRST_PROCESS = ["/usr/bin/env", "--ignore-signal=CHLD", "sleep", "infinity"]
_MAX_COLLECTED = 10_000


class DockerSandbox:
    """Opens sessions in containers."""

    name = "docker"

    def __init__(self, config: SandboxConfig) -> None:
        self._config = config

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> "DockerSession":
        """See `components.sandbox.base.Sandbox`."""
        check(tree)
        limits = limits or self._config.limits
        with _docker_errors():
            client = _client(os.getpid())
            container = _create(client, tree, self._config.docker_image, limits)
            try:
                return DockerSession(client.api, container, tree, files, remove, limits)
            except BaseException:
                container.remove(force=True)
                raise


class DockerSession:
    """See `components.sandbox.base.Session`."""

    def __init__(
        self,
        api: docker.APIClient,
        container: Container,
        tree: Tree,
        files: Mapping[str, bytes],
        remove: Sequence[str],
        limits: Limits,
    ) -> None:
        self._api = api
        self._container = container
        self._tree = tree
        self._limits = limits
        self._files = ContainerFiles(api, container)
        self._base: dict[str, Content | None] = {}
        self._closed = False
        container.start()
        container.reload()
        self._upper = _upper(container)
        for path in remove:
            self.delete(path)
            self._base[path] = None
        for path, data in files.items():
            self.write(path, data)
            self._base[path] = self._files.read(path)

    def read(self, path: str) -> bytes:
        """See `components.sandbox.base.Session`."""
        with _docker_errors():
            return self._files.read(path).data

    def write(self, path: str, data: bytes) -> None:
        """See `components.sandbox.base.Session`."""
        with _docker_errors():
            self._files.write(path, data)

    def delete(self, path: str) -> None:
        """See `components.sandbox.base.Session`."""
        with _docker_errors():
            real = self._files.locate(path)
            self._as_agent(["/bin/rm", "-f", "--", f"{REPO}/{real}"])

    def exists(self, path: str) -> bool:
        """See `components.sandbox.base.Session`."""
        with _docker_errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            found = self._files.resolve(path)[1]
            return found is not None and found.is_file
        return False

    def files(self) -> list[str]:
        """See `components.sandbox.base.Session`."""
        with _docker_errors():
            return self._files.names()

    def diff(self) -> str:
        """See `components.sandbox.base.Session`."""
        return self.diff_report().text

    def diff_report(self) -> Diff:
        """See `components.sandbox.base.Session`."""
        with _docker_errors():
            return self._files.report(self._tree.repo, self._base)

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout: float | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        limits: Limits | None = None,
        collect: Path | None = None,
        collect_env: str = COLLECT_ENV,
    ) -> ExecResult:
        """See `components.sandbox.base.Session`."""
        limits = limits or self._limits
        variables = {**FIXED_ENV, **(env or {})}
        folder = secrets.token_hex(16) if collect is not None else ""
        with _docker_errors():
            if folder:
                self._files.put("/", folders={folder: 0o700}, files={})
                variables[collect_env] = f"/{folder}"
            result = run_supervised(
                self._api,
                self._container,
                argv,
                variables=variables,
                stdin=stdin,
                wall_seconds=limits.wall_seconds if timeout is None else timeout,
                limits=limits,
                upper=self._upper,
            )
            if collect is not None:
                self._take(folder, collect)
        return result

    def close(self) -> None:
        """See `components.sandbox.base.Session`."""
        if self._closed:
            return
        self._closed = True
        with _docker_errors(), contextlib.suppress(NotFound):
            self._container.remove(force=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _as_agent(self, argv: list[str]) -> None:
        code, output = self._container.exec_run(argv, user=f"{AGENT}:{AGENT}", workdir="/")
        if code:
            raise SandboxError(f"{argv[0]} failed in the container: {output!r}")

    def _take(self, folder: str, collect: Path) -> None:
        """Copy the regular files of a folder that the command has filled; links and devices stay."""
        collect.mkdir(parents=True, exist_ok=True)
        for count, (member, data) in enumerate(self._files.archive(f"/{folder}")):
            parts = member.name.split("/")[1:]
            if count > _MAX_COLLECTED or data is None or not parts or {"", ".", ".."} & set(parts):
                continue
            target = collect.joinpath(*parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data.read())
        # What is inside goes; the empty folder stays, since only the container's root could remove it.
        self._as_agent(["/usr/bin/find", f"/{folder}", "-mindepth", "1", "-delete"])


def collect_garbage() -> list[str]:
    """Remove containers of sessions whose owner is dead and images of trees that are gone, by label only.

    Returns:
        The names of the containers that it removed.
    """
    with _docker_errors():
        return _collect(_client(os.getpid()))


def _collect(client: docker.DockerClient) -> list[str]:
    removed = []
    for container in client.containers.list(all=True, filters={"label": SESSION_LABEL}, ignore_removed=True):
        if owner.is_gone(container.labels.get(OWNER_LABEL, "")):
            with contextlib.suppress(NotFound):
                container.remove(force=True)
                removed.append(str(container.name))
    collect_images(client)
    return removed


@cache
def _client(pid: int) -> docker.DockerClient:
    """One client per process, since connections do not survive a fork; it first clears up after the dead."""
    client = docker.from_env(timeout=_CALL_SECONDS, max_pool_size=_POOL)
    client.ping()
    _collect(client)
    return client


def _create(client: docker.DockerClient, tree: Tree, base: str, limits: Limits) -> Container:
    prefixes = python_prefixes(tree.environment)
    session = secrets.token_hex(8)
    labels = {SESSION_LABEL: session, OWNER_LABEL: owner.this_process()}
    image = tree_image(client, base, tree, prefixes, labels)
    mounts = [Mount(ENV, str(tree.environment.resolve()), type="bind", read_only=True)]
    mounts += [Mount(str(p), str(p), type="bind", read_only=True) for p in prefixes]
    memory = f"{limits.memory_mb}m"
    return client.containers.create(
        image,
        _FIRST_PROCESS,
        name=f"flywheel-{session}",
        hostname="sandbox",
        labels=labels,
        mounts=mounts,
        network_mode="none",
        ipc_mode="private",
        user="0",
        cap_drop=["ALL"],
        cap_add=["KILL", "SETGID", "SETUID"],
        security_opt=["no-new-privileges"],
        mem_limit=memory,
        memswap_limit=memory,
        cpu_shares=_CPU_SHARES,
        pids_limit=limits.pids + SPARE_PIDS,
        shm_size=_SHM,
        tmpfs={"/tmp": f"size={limits.disk_mb}m,mode=1777,exec"},
        ulimits=[Ulimit(name="core", soft=0, hard=0)],
        working_dir=REPO,
    )


def _upper(container: Container) -> str | None:
    """The container's own layer, if it lies on this machine where we may read it."""
    data = (container.attrs.get("GraphDriver") or {}).get("Data") or {}
    upper = data.get("UpperDir")
    return upper if upper and os.access(upper, os.R_OK | os.X_OK) else None


@contextlib.contextmanager
def _docker_errors() -> Iterator[None]:
    try:
        yield
    except (DockerException, RequestException, APIError) as error:
        raise SandboxError(f"docker: {error}; is the daemon running (infra/start-dockerd.sh)?") from error
