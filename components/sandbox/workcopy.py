"""The changed copy of a repository, seen from the host: file access and its diff."""

import stat
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from components.sandbox.base import Diff
from components.sandbox.changes import changed_paths, ignored, original, regular_files
from components.sandbox.diffs import Change, Content, render
from components.sandbox.jail import Jail


class WorkCopy:
    """A folder that began as a copy of a pristine tree, with some files changed at the start."""

    def __init__(
        self,
        pristine: Path,
        folder_fd: int,
        upper: str | None,
        owner: int | None,
        files: Mapping[str, bytes],
        remove: Sequence[str],
    ) -> None:
        """Apply the starting changes.

        Args:
            pristine: What the folder is a copy of.
            folder_fd: The folder, open; not closed here.
            upper: The overlay's writable layer, `None` when the folder is a full copy.
            owner: The user of new files, when not our own.
            files: Files to write at the start.
            remove: Files to delete at the start.
        """
        self._pristine = str(pristine)
        self._upper = upper
        self._jail = Jail(folder_fd, owner)
        self._base: dict[str, Content | None] = {}
        """What the diff starts from, where that is not the pristine tree."""
        for path in remove:
            self._jail.delete(path)
            self._base[path] = None
        for path, data in files.items():
            self._jail.write(path, data)
            self._base[path] = Content(*self._jail.read(path))

    def read(self, path: str) -> bytes:
        """The bytes of a regular file."""
        return self._jail.read(path)[0]

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        self._jail.write(path, data)

    def delete(self, path: str) -> None:
        """Remove a file or a link."""
        self._jail.delete(path)

    def exists(self, path: str) -> bool:
        """Is it a regular file?"""
        return self._jail.is_file(path)

    def files(self) -> list[str]:
        """Every regular file, sorted, without caches."""
        found = regular_files(self._jail.path, "", stat.S_IFDIR)
        return sorted(path for path in found if not ignored(path))

    def report(self) -> Diff:
        """What changed since the start."""
        paths, refused = changed_paths(self._pristine, self._upper, self._jail.path)
        changes = []
        for path in sorted(paths | self._base.keys()):
            try:
                changes.append(Change(path, original(self._pristine, self._base, path), self._new(path)))
            except OSError as error:
                refused[path] = f"{error.strerror}; left out of the diff"
        return render(changes, refused)

    def _new(self, path: str) -> Content | None:
        found = self._jail.read_plain(path)
        return None if found is None else Content(*found)


class WorkCopySession(ABC):
    """What is the same in all sessions whose copy is a folder that this process can open."""

    def __init__(self, copy: WorkCopy) -> None:
        self._copy = copy

    def read(self, path: str) -> bytes:
        """See `components.sandbox.base.Session`."""
        return self._copy.read(path)

    def write(self, path: str, data: bytes) -> None:
        """See `components.sandbox.base.Session`."""
        self._copy.write(path, data)

    def delete(self, path: str) -> None:
        """See `components.sandbox.base.Session`."""
        self._copy.delete(path)

    def exists(self, path: str) -> bool:
        """See `components.sandbox.base.Session`."""
        return self._copy.exists(path)

    def files(self) -> list[str]:
        """See `components.sandbox.base.Session`."""
        return self._copy.files()

    def diff(self) -> str:
        """See `components.sandbox.base.Session`."""
        return self._copy.report().text

    def diff_report(self) -> Diff:
        """See `components.sandbox.base.Session`."""
        return self._copy.report()

    @abstractmethod
    def close(self) -> None:
        """See `components.sandbox.base.Session`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
