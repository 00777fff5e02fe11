"""Where the bytes are: a local folder here, S3 in `s3.py`, behind one protocol."""

import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from components.store.digests import md5_file, sha256_file
from components.store.space import no_space_named


class ObjectStore(Protocol):
    """Named objects. A name is a relative path with slashes; a write is whole or not at all."""

    url: str
    local: bool
    """True when reading every byte again costs no transfer."""

    def read(self, name: str) -> bytes | None:
        """The object's bytes; None if there is none."""

    def write(self, name: str, data: bytes, *, only_new: bool = False) -> bool:
        """Write an object; with `only_new`, False and nothing done if it is there."""

    def sizes(self, prefix: str) -> dict[str, int]:
        """Length in bytes of every object under a prefix, by name."""

    def md5(self, name: str) -> str | None:
        """md5 of the object's bytes; None if there is none."""

    def children(self, folder: str, starting: str = "") -> list[str]:
        """Names of the objects and folders right under a folder, sorted."""

    def delete(self, name: str) -> None:
        """Delete an object or everything under a name. Nothing there is fine."""

    def publish(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        """Make files of a folder (path to sha256) appear under `name`.

        What a name holds is fixed by the digest in it, so what is there already and whole is left alone, and
        what is missing or damaged is put right.
        """

    def fetch(self, name: str, *, fresh: bool = False) -> Path:
        """A local path with the object's bytes; `fresh`: not from a cache.

        Raises:
            FileNotFoundError: There is no such object.
        """

    def locate(self, name: str) -> str:
        """Where a user finds the object."""


class LocalObjects:
    """Objects as files under a folder."""

    local = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = str(root)

    def read(self, name: str) -> bytes | None:
        """See `ObjectStore`."""
        try:
            return (self.root / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes, *, only_new: bool = False) -> bool:
        """See `ObjectStore`."""
        path = self.root / name
        part = _part(path)
        with no_space_named(self.root):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(data)
                _sync(part)
                if only_new:
                    os.link(part, path)  # unlike a rename, fails when the name is taken
                else:
                    part.replace(path)
            except FileExistsError:
                return False
            finally:
                part.unlink(missing_ok=True)
        return True

    def sizes(self, prefix: str) -> dict[str, int]:
        """See `ObjectStore`."""
        paths = (path for path in (self.root / prefix).rglob("*") if path.is_file())
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in paths}

    def md5(self, name: str) -> str | None:
        """See `ObjectStore`."""
        path = self.root / name
        return md5_file(path) if path.is_file() else None

    def children(self, folder: str, starting: str = "") -> list[str]:
        """See `ObjectStore`."""
        path = self.root / folder
        names = [entry.name for entry in path.iterdir()] if path.is_dir() else []
        return sorted(name for name in names if name.startswith(starting) and not name.startswith("."))

    def delete(self, name: str) -> None:
        """See `ObjectStore`."""
        path = self.root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def publish(self, name: str, folder: Path, files: Mapping[str, str]) -> None:
        """See `ObjectStore`. A new dataset appears with one rename of its folder."""
        target = self.root / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            staged = self._stage(folder, target, files)
            try:
                staged.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise  # else another process was faster: look at what it published
            finally:
                shutil.rmtree(staged, ignore_errors=True)
        for path, sha256 in files.items():
            if not (target / path).is_file() or sha256_file(target / path) != sha256:
                _replace(folder / path, target / path)

    def fetch(self, name: str, *, fresh: bool = False) -> Path:
        """See `ObjectStore`."""
        path = self.root / name
        if not path.exists():
            raise FileNotFoundError(path)
        return path

    def locate(self, name: str) -> str:
        """See `ObjectStore`."""
        return str(self.root / name)

    def _stage(self, folder: Path, target: Path, files: Mapping[str, str]) -> Path:
        """A folder with the files alone, which one rename can publish.

        It is hard links beside the folder, so that the folder outlives a crash between here and the commit,
        and a copy beside the target when that is another device.
        """
        staged = folder.with_name("staged")
        if folder.stat().st_dev != target.parent.stat().st_dev:
            staged = _part(target)
        shutil.rmtree(staged, ignore_errors=True)
        try:
            for path in files:
                _link_or_copy(folder / path, staged / path)
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
        return staged


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(path: Path) -> None:
    """To the disk, so that a rename never outruns the bytes when the power fails."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:  # another device, or a file system without hard links
        shutil.copyfile(source, target)
    _sync(target)


def _replace(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _part(target)
    try:
        # A copy: the source may be what is published elsewhere under this digest.
        shutil.copyfile(source, part)
        _sync(part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
