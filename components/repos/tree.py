"""Trees of files: a safe copy, and how a finished one gets to its place."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from components.records.errors import InputError
from components.store.digests import sha256_tree
from components.store.workspace import Workspace

SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
        ".tox", ".nox", "node_modules", ".DS_Store", ".flywheel",
    }
)  # fmt: skip
"""Never copied, nor any virtual environment: history, caches, installed packages."""


def pin_of(folder: Path) -> str:
    """The pin of a local folder: the digest of what would be copied from it."""
    with tempfile.TemporaryDirectory(prefix="flywheel-pin-") as scratch:
        copy_tree(folder, Path(scratch))
        return sha256_tree(Path(scratch))


def copy_tree(source: Path, target: Path) -> None:
    """Copy the regular files of a folder; a link becomes the file it means, and must mean one inside.

    Raises:
        InputError: A link points outside, or a file is neither regular nor a folder.
    """
    root = source.resolve()
    for path, relative in _files(source):
        real = path.resolve()
        if not real.is_relative_to(root):
            raise InputError(f"{source}: {relative} links to {real}, outside of the repository")
        copy = target / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(real.read_bytes())
        copy.chmod(0o755 if real.stat().st_mode & 0o100 else 0o644)


@contextmanager
def staging(workspace: Workspace, parent: Path, name: str) -> Iterator[Path]:
    """An empty private folder below `parent`; what is worth keeping is moved out of it by `publish`.

    One process at a time has the folder of a name. It is gone at the end, and what a killed process has left
    is gone when the next one begins.
    """
    name = name[:16]  # short: paths in here end up in `#!` lines, which may not be long
    private = parent / f".staging-{name}"
    workspace.locks.mkdir(parents=True, exist_ok=True)
    with FileLock(workspace.locks / f"staging-{name}.lock"):
        shutil.rmtree(private, ignore_errors=True)
        private.mkdir(parents=True)
        try:
            yield private
        finally:
            shutil.rmtree(private, ignore_errors=True)


def keep(path: Path, text: str) -> None:
    """Write a small file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    partial.rename(path)


def publish(finished: Path, target: Path) -> None:
    """Move a finished tree to its content address: there whole, or not at all.

    If another process was faster, its result stands: both were made from the same pins.
    """
    finished.chmod(0o755)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        finished.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = [name for name in folders if not _skipped(here / name)]
        for name in folders:
            if (here / name).is_symlink():
                raise InputError(f"{root}: {(here / name).relative_to(root)} is a link to a folder")
        for name in sorted(names):
            path = here / name
            if name in SKIPPED or name.endswith((".pyc", ".pyo")):
                continue
            relative = path.relative_to(root).as_posix()
            try:
                mode = path.stat().st_mode
            except OSError as error:
                raise InputError(f"{root}: {relative} is a link to nothing") from error
            if not stat.S_ISREG(mode):
                raise InputError(f"{root}: {relative} is neither a file nor a folder")
            yield path, relative


def _skipped(folder: Path) -> bool:
    return folder.name in SKIPPED or (folder / "pyvenv.cfg").exists()
