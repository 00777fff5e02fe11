"""Virtual environments by lock: what the environments of several repositories share.

Scripts and bytecode are written for `/env`, where every sandbox mounts an environment, so a finished one can
be copied and moved.
"""

import compileall
import sys
import sysconfig
import venv
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from py_compile import PycInvalidationMode

from packaging.utils import canonicalize_name

from components.repos.pip import Pip
from components.repos.tree import publish, staging
from components.store.digests import sha256_json
from components.store.workspace import Workspace

MOUNT = "/env"


def python_version() -> str:
    """The Python that environments are made with, e.g. `cpython-3.11.7`."""
    return f"{sys.implementation.name}-{sysconfig.get_config_var('py_version')}"


def site_packages(folder: Path) -> Path:
    """Where the packages of a virtual environment are."""
    return folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def resolved(workspace: Workspace, requirements: Sequence[str], pip: Pip) -> tuple[Path, tuple[str, ...]]:
    """A virtual environment with the requirements and all that they need, and its lock."""
    lock = pip.known_lock(requirements)
    if lock is None:
        folder, lock = _make(workspace, requirements, pip, locked=False)
        pip.remember_lock(requirements, lock)
        return folder, lock
    return locked(workspace, lock, pip), lock


def locked(workspace: Workspace, lock: Sequence[str], pip: Pip) -> Path:
    """A virtual environment with exactly the lock's distributions."""
    target = _place(workspace, lock)
    return target if target.is_dir() else _make(workspace, lock, pip, locked=True)[0]


def _place(workspace: Workspace, lock: Sequence[str]) -> Path:
    return workspace.cache / "venvs" / sha256_json([python_version(), sysconfig.get_platform(), list(lock)])


def _make(
    workspace: Workspace, requirements: Sequence[str], pip: Pip, *, locked: bool
) -> tuple[Path, tuple[str, ...]]:
    with staging(workspace, workspace.cache / "venvs", sha256_json(list(requirements))) as private:
        folder = private / "venv"
        venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
        pip.install(folder, requirements, locked=locked)
        found = distributions(path=[str(site_packages(folder))])
        lock = tuple(sorted(f"{canonicalize_name(dist.metadata['Name'])}=={dist.version}" for dist in found))
        _make_movable(folder)
        publish(folder, _place(workspace, lock))
    return _place(workspace, lock), lock


def _make_movable(folder: Path) -> None:
    for path in [folder / "pyvenv.cfg", *(folder / "bin").iterdir()]:
        if path.is_file() and not path.is_symlink():
            path.write_bytes(path.read_bytes().replace(str(folder).encode(), MOUNT.encode()))
    # Bytecode is made now, since nothing may write it later, and is believed without a look at the times of
    # the sources, which a copy or an image layer changes.
    compileall.compile_dir(
        folder / "lib",
        quiet=2,
        stripdir=str(folder),
        prependdir=MOUNT,
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )
