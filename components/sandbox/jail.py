"""File access below one folder that a hostile program may have filled: no path leads out of it.

Every component is opened relative to its parent and never through a link; links are resolved here, and
only those that stay inside are followed. So neither `..`, nor an absolute path, nor a planted link
reaches a file of the host.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from components.records.errors import InputError
from components.sandbox.base import REPO, UnsafePathError

_MAX_LINKS = 32


class Jail:
    """Reads and writes below an open folder."""

    def __init__(self, root_fd: int, owner: int | None = None) -> None:
        """`owner`: the user and group of new files, when not our own."""
        self.root_fd = root_fd
        self._owner = owner

    @property
    def path(self) -> str:
        """A path of the folder for this process, valid while it is open."""
        return f"/proc/self/fd/{self.root_fd}"

    def read(self, path: str) -> tuple[bytes, bool]:
        """The bytes of a regular file, and whether it is executable."""
        with self._parent(path) as (parent, name):
            if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                raise IsADirectoryError(errno.EISDIR, "not a regular file", path)
            return _read(name, parent)

    def read_plain(self, path: str) -> tuple[bytes, bool] | None:
        """The same for a path without links; `None` when no regular file is there."""
        parts = path.split("/")
        folder = "/".join(parts[:-1])
        try:
            for depth in range(1, len(parts)):
                if not stat.S_ISDIR(os.lstat("/".join([self.path, *parts[:depth]])).st_mode):
                    return None
            if not stat.S_ISREG(os.lstat(f"{self.path}/{path}").st_mode):
                return None
        except (FileNotFoundError, NotADirectoryError):
            return None
        parent = os.open(f"{self.path}/{folder}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return _read(parts[-1], parent)
        finally:
            os.close(parent)

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a regular file."""
        try:
            with self._parent(path, create=True) as (parent, name):
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with contextlib.suppress(FileNotFoundError):
                    if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                        raise IsADirectoryError(errno.EISDIR, "not a regular file", path)
                fd = os.open(name, flags, 0o644, dir_fd=parent)
                with os.fdopen(fd, "wb") as file:
                    if self._owner is not None:
                        os.fchown(fd, self._owner, self._owner)
                    file.write(data)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise InputError(
                    f"{path}: {len(data)} bytes do not fit in what is left of the session's disk limit"
                ) from error
            raise

    def delete(self, path: str) -> None:
        """Remove a file or a link."""
        with self._parent(path, follow=False) as (parent, name):
            os.unlink(name, dir_fd=parent)

    def is_file(self, path: str) -> bool:
        """Is there a regular file?"""
        try:
            with self._parent(path) as (parent, name):
                return stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    @contextlib.contextmanager
    def _parent(self, path: str, *, create: bool = False, follow: bool = True) -> Iterator[tuple[int, str]]:
        """The folder that really holds the last component, open, and that component's name."""
        with contextlib.ExitStack() as opened:
            todo = split_path(path)
            folders = [self.root_fd]
            links = 0
            while True:
                name = todo.pop(0)
                if name == "..":
                    if len(folders) == 1:
                        raise _unsafe(path)
                    folders.pop()
                    if not todo:
                        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
                    continue
                try:
                    mode = os.stat(name, dir_fd=folders[-1], follow_symlinks=False).st_mode
                except FileNotFoundError:
                    if not todo:
                        break
                    if not create:
                        raise FileNotFoundError(errno.ENOENT, "no such file", path) from None
                    self._make_folder(name, folders[-1])
                    mode = stat.S_IFDIR
                if stat.S_ISLNK(mode) and (todo or follow):
                    links += 1
                    target, inside = _target(os.readlink(name, dir_fd=folders[-1]))
                    if links > _MAX_LINKS or not inside:
                        raise _unsafe(path)
                    folders = folders[:1] if inside == "root" else folders
                    todo = target + todo
                    if not todo:
                        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
                    continue
                if not todo:
                    break
                folders.append(_open_folder(name, folders[-1]))
                opened.callback(os.close, folders[-1])
            yield folders[-1], name

    def _make_folder(self, name: str, parent: int) -> None:
        os.mkdir(name, 0o755, dir_fd=parent)
        if self._owner is not None:
            os.chown(name, self._owner, self._owner, dir_fd=parent, follow_symlinks=False)


def split_path(path: str) -> list[str]:
    """The components of a path relative to /repo, refused if they lead out of it or name nothing."""
    if not path or "\0" in path or path.startswith("/"):
        raise _unsafe(path)
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                raise _unsafe(path)
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if not parts:
        raise IsADirectoryError(errno.EISDIR, "is a folder", path)
    return parts


def _target(link: str) -> tuple[list[str], str]:
    """The components of a link's target and where they start: `here`, `root`, or "" for outside."""
    parts = [part for part in link.split("/") if part not in ("", ".")]
    if not link.startswith("/"):
        return parts, "here"
    if parts[:1] == [REPO.strip("/")]:
        return parts[1:], "root"
    return [], ""


def _unsafe(path: str) -> UnsafePathError:
    return UnsafePathError(
        f"{path!r}: leaves the repository; give a path relative to {REPO} that stays inside"
    )


def _open_folder(name: str, parent: int) -> int:
    return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _read(name: str, parent: int) -> tuple[bytes, bool]:
    # The open does not block: it comes after the check that this is a file, and a pipe would hang us.
    with os.fdopen(_open_readable(name, parent), "rb") as file:
        return file.read(), bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)


def _open_readable(name: str, parent: int) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        # A program that makes its own files unreadable must not hide them from its diff.
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        os.chmod(name, stat.S_IMODE(mode) | stat.S_IRUSR, dir_fd=parent)
        return os.open(name, flags, dir_fd=parent)
