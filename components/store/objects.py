"""Where the bytes are: a local folder here, S3 in `s3.py`, behind one protocol."""

import os
import shutil
import uuid
from pathlib import Path
from typing import Protocol

from components.store.digests import sha256_file
from components.store.manifest import OutputFile


class ObjectStore(Protocol):
    """Named objects. A name is a relative path with slashes; a write is whole or not at all."""

    url: str

    def read(self, name: str) -> bytes | None:
        """The object's bytes; None if there is none."""

    def write(self, name: str, data: bytes, *, only_new: bool = False) -> bool:
        """Write an object; with `only_new`, False and nothing done if it is there."""

    def size(self, name: str) -> int | None:
        """Length in bytes; None if there is none."""

    def children(self, prefix: str) -> list[str]:
        """Names of the objects and folders right under `prefix`, sorted."""

    def delete(self, name: str) -> None:
        """Delete an object or everything under a name. Nothing there is fine."""

    def publish(self, name: str, folder: Path, files: tuple[OutputFile, ...]) -> None:
        """Make `folder`'s `files` and its `manifest.json` appear under `name`.

        Content under a name is fixed by its digest, so what is there already and whole is left alone, and
        what is missing or damaged is put right.
        """

    def fetch(self, name: str) -> Path:
        """A local path with the object's bytes. `FileNotFoundError` if there is none."""

    def locate(self, name: str) -> str:
        """Where a user finds the object."""


class LocalObjects:
    """Objects as files under a folder."""

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
        path.parent.mkdir(parents=True, exist_ok=True)
        part = _part(path)
        try:
            with part.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if only_new:
                try:
                    os.link(part, path)
                except FileExistsError:
                    return False
            else:
                part.replace(path)
            return True
        finally:
            part.unlink(missing_ok=True)

    def size(self, name: str) -> int | None:
        """See `ObjectStore`."""
        try:
            return (self.root / name).stat().st_size
        except FileNotFoundError:
            return None

    def children(self, prefix: str) -> list[str]:
        """See `ObjectStore`."""
        folder = self.root / prefix
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))

    def delete(self, name: str) -> None:
        """See `ObjectStore`."""
        path = self.root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def publish(self, name: str, folder: Path, files: tuple[OutputFile, ...]) -> None:
        """See `ObjectStore`. A new dataset appears with one rename of its folder."""
        target = self.root / name
        if not target.exists():
            staged = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
            try:
                for path in [*(file.path for file in files), "manifest.json"]:
                    _link_or_copy(folder / path, staged / path)
                staged.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise
            finally:
                shutil.rmtree(staged, ignore_errors=True)
        for file in files:
            there = target / file.path
            if not there.is_file() or sha256_file(there) != file.sha256:
                _replace(folder / file.path, there)
        if not (target / "manifest.json").exists():
            _replace(folder / "manifest.json", target / "manifest.json")

    def fetch(self, name: str) -> Path:
        """See `ObjectStore`."""
        path = self.root / name
        if not path.exists():
            raise FileNotFoundError(path)
        return path

    def locate(self, name: str) -> str:
        """See `ObjectStore`."""
        return str(self.root / name)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _link_or_copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another device, or a file system without hard links
        shutil.copyfile(source, target)


def _replace(source: Path, target: Path) -> None:
    part = _part(target)
    try:
        _link_or_copy(source, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
