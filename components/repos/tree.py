"""Trees of files: their digest, a safe copy, and the one place that moves a finished one into its place."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.records.errors import InputError

SKIPPED = frozenset(
    {
        ".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
        ".tox", ".nox", "node_modules", ".DS_Store", ".flywheel",
    }
)  # fmt: skip
"""Never copied, nor any virtual environment: history, caches, installed packages."""


def tree_digest(root: Path, *, everything: bool = True) -> str:
    """sha256 over path, executable bit and content of every file, independent of times and owners.

    With `everything` off, of the files that `copy_tree` would copy: the pin of a local folder.
    """
    digest = hashlib.sha256()
    for path, relative in sorted(_files(root, everything=everything), key=lambda pair: pair[1]):
        executable = path.stat().st_mode & 0o100
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{relative}\0{'x' if executable else '-'}\0{content}\n".encode())
    return digest.hexdigest()


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
def staging(parent: Path) -> Iterator[Path]:
    """A private folder below `parent`, gone at the end; what is worth keeping is moved out by `publish`."""
    parent.mkdir(parents=True, exist_ok=True)
    private = Path(tempfile.mkdtemp(prefix=".staging-", dir=parent))
    try:
        yield private
    finally:
        shutil.rmtree(private, ignore_errors=True)


def publish(finished: Path, target: Path) -> None:
    """Move a finished tree to its content address: there whole, or not at all.

    If another process was faster, its result stands: both were made from the same pins.
    """
    finished.chmod(0o755)
    try:
        finished.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def _files(root: Path, *, everything: bool = False) -> Iterator[tuple[Path, str]]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        if not everything:
            folders[:] = [name for name in folders if not _skipped(here / name)]
        for name in folders:
            if (here / name).is_symlink():
                raise InputError(f"{root}: {(here / name).relative_to(root)} is a link to a folder")
        for name in sorted(names):
            path = here / name
            if not everything and (name in SKIPPED or name.endswith((".pyc", ".pyo"))):
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
