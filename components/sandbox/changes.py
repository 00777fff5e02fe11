"""Which files of a tree may differ from the pristine one, and what they were."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from components.sandbox.diffs import Content

IGNORED_FOLDERS = frozenset(
    {"__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", ".git"}
)
"""Caches that running tests leaves behind, and git's own."""


def original(pristine: str, base: Mapping[str, Content | None], path: str) -> Content | None:
    """What a diff starts from: the pristine file, unless `base` says otherwise."""
    if path in base:
        return base[path]
    file = f"{pristine}/{path}"
    try:
        found = os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Content(Path(file).read_bytes(), bool(found.st_mode & stat.S_IXUSR))


def ignored(path: str) -> bool:
    """Is it inside a cache?"""
    return any(part in IGNORED_FOLDERS for part in path.split("/"))


def changed_paths(lower: str, upper: str | None, merged: str) -> tuple[set[str], dict[str, str]]:
    """Paths of regular files that may differ between `lower` and `merged`, and those refused.

    Args:
        lower: The pristine tree.
        upper: The writable layer of an overlay, whose entries are the only ones that can differ;
            `None` when `merged` is a copy, so that any file can.
        merged: The tree as commands see it.
    """
    found: set[str] = set()
    refused: dict[str, str] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            old = _scan(lower, folder)
            new = _scan(merged, folder)
            own = new.keys() if upper is None else _scan(upper, folder).keys()
        except OSError as error:
            refused[folder.rstrip("/")] = f"{error.strerror}; left out of the diff"
            continue
        for name in old.keys() - new.keys():
            found.update(regular_files(lower, folder + name, old[name]))
        for name in new.keys() & own:
            path, mode = folder + name, new[name]
            if name in IGNORED_FOLDERS:
                continue
            before = old.get(name, 0)
            if stat.S_ISDIR(mode):
                folders.append(path + "/")
                if before and not stat.S_ISDIR(before):
                    found.update(regular_files(lower, path, before))
                continue
            if before:
                found.update(regular_files(lower, path, before))
            if stat.S_ISREG(mode):
                found.add(path)
            elif stat.S_IFMT(mode) != stat.S_IFMT(before) or upper is not None:
                refused[path] = "not a regular file; left out of the diff"
    return {path for path in found if not ignored(path)}, refused


def regular_files(root: str, path: str, mode: int) -> Iterator[str]:
    """Every regular file at or below a path, following no link."""
    if stat.S_ISREG(mode):
        yield path
    elif stat.S_ISDIR(mode):
        stack = [path + "/" if path else ""]
        while stack:
            folder = stack.pop()
            try:
                entries = _scan(root, folder)
            except OSError:
                continue  # so deep that no path names what is in there
            for name, entry in entries.items():
                if stat.S_ISREG(entry):
                    yield folder + name
                elif stat.S_ISDIR(entry) and name not in IGNORED_FOLDERS:
                    stack.append(folder + name + "/")


def _scan(root: str, folder: str) -> dict[str, int]:
    """Name -> mode of a folder's entries; empty when it is not a real folder."""
    path = Path(root, folder)
    try:
        # lstat, so that a folder which one side replaced by a link is not walked through.
        if not stat.S_ISDIR(os.lstat(f"{root}/{folder}".rstrip("/") if folder else root + "/.").st_mode):
            return {}
        with os.scandir(path) as entries:
            return {entry.name: entry.stat(follow_symlinks=False).st_mode for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return {}
