"""Files of a container by docker's archive calls, which work wherever the daemon is."""

import base64
import errno
import io
import json
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from docker import APIClient
from docker.models.containers import Container

from components.records.errors import SandboxError
from components.sandbox.base import REPO, Diff, UnsafePathError
from components.sandbox.changes import ignored, original, regular_files
from components.sandbox.diffs import Change, Content, render
from components.sandbox.dockerexec import AGENT
from components.sandbox.jail import split_path

_GO_FOLDER, _GO_LINK, _GO_TYPES = 1 << 31, 1 << 27, 0x8F280000
_MAX_LINKS = 32


class Stat(NamedTuple):
    """What the daemon says about a path, following no link at its end."""

    mode: int
    target: str
    """Of a link: where it leads in the end, from the container's root."""

    @property
    def is_folder(self) -> bool:
        """A folder?"""
        return bool(self.mode & _GO_FOLDER)

    @property
    def is_link(self) -> bool:
        """A symbolic link?"""
        return bool(self.mode & _GO_LINK)

    @property
    def is_file(self) -> bool:
        """A regular file?"""
        return not self.mode & _GO_TYPES


class ContainerFiles:
    """Reads and writes below /repo of a container in which nothing runs at that time."""

    def __init__(self, api: APIClient, container: Container) -> None:
        self._api = api
        self._container = container

    def locate(self, path: str) -> str:
        """The real path of a file or link itself, relative to /repo."""
        *folders, name = split_path(path)
        folder = ""
        if folders:
            folder, found = self.resolve("/".join(folders))
            if found is None or not found.is_folder:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
        real = f"{folder}/{name}" if folder else name
        found = self._stat(f"{REPO}/{real}")
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if found.is_folder:
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        return real

    def resolve(self, path: str, *, create: bool = False) -> tuple[str, Stat | None]:
        """The real path of a file, relative to /repo, and what is there.

        Every folder on the way is looked at, since the daemon itself would follow a planted link.
        """
        done: list[str] = []
        todo = split_path(path)
        links = 0
        while todo:
            name = todo.pop(0)
            found = self._stat("/".join([REPO, *done, name]))
            if found is None:
                if todo and not create:
                    raise FileNotFoundError(errno.ENOENT, "no such file", path)
                return "/".join([*done, name, *todo]), None
            if found.is_link:
                links += 1
                if links > _MAX_LINKS or not PurePosixPath(found.target).is_relative_to(REPO):
                    raise UnsafePathError(f"{path!r}: leads out of the repository through a link")
                done, todo = [], [*PurePosixPath(found.target).relative_to(REPO).parts, *todo]
                if not todo:
                    raise IsADirectoryError(errno.EISDIR, "is a folder", path)
                continue
            if not todo:
                return "/".join([*done, name]), found
            if not found.is_folder:
                raise NotADirectoryError(errno.ENOTDIR, "is not a folder", path)
            done.append(name)
        raise FileNotFoundError(errno.ENOENT, "no such file", path)

    def read(self, path: str) -> Content:
        """A regular file."""
        real, found = self.resolve(path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if not found.is_file:
            raise IsADirectoryError(errno.EISDIR, "not a regular file", path)
        for member, data in self.archive(f"{REPO}/{real}"):
            return Content(data.read() if data else b"", bool(member.mode & stat.S_IXUSR))
        raise SandboxError(f"{path}: the docker daemon sent nothing")

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file, keeping its mode."""
        real, found = self.resolve(path, create=True)
        if found is not None and not found.is_file:
            raise IsADirectoryError(errno.EISDIR, "not a regular file", path)
        mode = 0o644 if found is None else found.mode & 0o777
        parents = [str(folder) for folder in reversed(PurePosixPath(real).parents[:-1])]
        # A folder that is there must not be sent: that would set its mode and owner anew.
        missing = (
            [folder for folder in parents if self._stat(f"{REPO}/{folder}") is None] if found is None else []
        )
        self.put(REPO, folders=dict.fromkeys(missing, 0o755), files={real: (data, mode)})

    def put(self, target: str, *, folders: Mapping[str, int], files: Mapping[str, tuple[bytes, int]]) -> None:
        """Unpack folders and files, which the agent's user will own, below a folder."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for name, mode in folders.items():
                tar.addfile(_member(name, mode, tarfile.DIRTYPE))
            for name, (data, mode) in files.items():
                member = _member(name, mode, tarfile.REGTYPE)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        if not self._container.put_archive(target, buffer.getvalue()):
            raise SandboxError(f"the docker daemon did not take files for {target}")

    def archive(self, path: str) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
        """Everything at and below a path; each file can be read until the next is asked for."""
        stream, _ = self._container.get_archive(path)
        with tarfile.open(fileobj=_Stream(stream), mode="r|") as tar:
            for member in tar:
                yield member, tar.extractfile(member) if member.isreg() else None

    def names(self) -> list[str]:
        """Every regular file of the repository, sorted, without caches."""
        found = (_inside(member.name) for member, _ in self.archive(REPO) if member.isreg() or member.islnk())
        return sorted(path for path in found if not ignored(path))

    def report(self, pristine: Path, base: Mapping[str, Content | None]) -> Diff:
        """What differs from the pristine tree, in which `base` takes the place of some files."""
        root = str(pristine)
        changes: list[Change] = []
        refused: dict[str, str] = {}
        present: set[str] = set()
        linked: list[str] = []
        for member, data in self.archive(REPO):
            path = _inside(member.name)
            if ignored(path) or member.isdir():
                continue
            if data is not None:
                present.add(path)
                new = Content(data.read(), bool(member.mode & stat.S_IXUSR))
                changes += _change(path, original(root, base, path), new)
            elif member.islnk():
                linked.append(path)  # its bytes are elsewhere in the archive
            elif not (pristine / path).is_symlink():
                refused[path] = "not a regular file; left out of the diff"
        for path in linked:
            present.add(path)
            changes += _change(path, original(root, base, path), self.read(path))
        for path in {*regular_files(root, "", stat.S_IFDIR), *base} - present:
            if not ignored(path):
                changes += _change(path, original(root, base, path), None)
        return render(changes, refused)

    def _stat(self, path: str) -> Stat | None:
        api = self._api
        url = f"{api.base_url}/v{api.api_version}/containers/{self._container.id}/archive"
        answer = api.head(url, params={"path": path}, timeout=api.timeout)
        if answer.status_code == 404:
            return None
        if answer.status_code == 500:
            raise UnsafePathError(f"{path!r}: docker cannot resolve it; is it a link to itself?")
        answer.raise_for_status()
        found = json.loads(base64.b64decode(answer.headers["X-Docker-Container-Path-Stat"]))
        return Stat(int(found["mode"]), found.get("linkTarget", ""))


class _Stream(io.RawIOBase):
    """A file over chunks of bytes."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            try:
                self._rest = next(self._chunks)
            except StopIteration:
                return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _member(name: str, mode: int, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.uid, member.gid = kind, mode, AGENT, AGENT
    return member


def _inside(name: str) -> str:
    """A member's path without the archive's first folder."""
    return name.partition("/")[2]


def _change(path: str, old: Content | None, new: Content | None) -> list[Change]:
    # Only what changed is kept in memory.
    return [] if (old and old.data) == (new and new.data) else [Change(path, old, new)]
