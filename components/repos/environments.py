"""Environments: one virtual environment per repository version, built once, addressed by what is in it.

What runs outside the sandbox is `pip` alone, and only for pinned wheels: a wheel is unpacked, never run. The
repository itself is not installed and none of its code runs here; the environment knows it by a `.pth` line
that leads to `/repo`, where every sandbox mounts the tree, and by a `.dist-info` with its name and version,
as an editable install would have. There is no pip in the environment.

A virtual environment holds its own path in the scripts of `bin/`; here they are written for `/env`, where
every sandbox mounts it, so that the folder can be moved.
"""

import compileall
import hashlib
import sys
import sysconfig
import venv
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from py_compile import PycInvalidationMode

from packaging.utils import canonicalize_name
from pydantic import JsonValue

from components.records.base import canonical_json
from components.records.errors import ConfigError, InfrastructureError, InputError
from components.records.repository import Environment, Recipe
from components.repos.pip import Pip
from components.repos.tree import publish, staging
from components.sandbox.trees import environment_path
from components.store.workspace import Workspace

MOUNT = "/env"
REPOSITORY_MOUNT = "/repo"


def build_environment(
    workspace: Workspace,
    repository_id: str,
    recipe: Recipe,
    *,
    tools: Sequence[str],
    roots: Sequence[str],
    key: str,
    seconds: float,
) -> Environment:
    """The environment of a repository version; built if it is not there yet.

    Args:
        workspace: Where it is kept.
        repository_id: `name@version`.
        recipe: With its source paths found out.
        tools: Pinned requirements that every environment holds.
        roots: Folders of the repository to put on the import path.
        key: The repository's place in the parameters, named in errors.
        seconds: The longest that pip may take.

    Raises:
        ConfigError: The requirements cannot be installed together, or need the repository itself.
        InfrastructureError: No network, no space.
    """
    requirements = sorted({*tools, *recipe.install})
    pip = Pip(workspace, key=f"{key}.recipe.install", seconds=seconds)
    lock = pip.known_lock(requirements)
    if lock:
        environment = _describe(repository_id, recipe, lock, roots)
        if environment_path(workspace, environment.digest).is_dir():
            return environment
    with staging(workspace.environments) as private:
        site = _create(private / "venv")
        if lock:
            pip.install(private / "venv", lock, locked=True)
        else:
            pip.install(private / "venv", requirements, locked=False)
            lock = _installed(site)
            pip.remember_lock(requirements, lock)
        _refuse_itself(repository_id, lock, f"{key}.recipe.install")
        environment = _describe(repository_id, recipe, lock, roots)
        _finish(workspace, private / "venv", environment, roots)
    return environment


def restore_environment(workspace: Workspace, environment: Environment, roots: Sequence[str]) -> None:
    """Build a recorded environment again from its lock, unless it is there.

    Raises:
        InfrastructureError: It was made with another Python than this one.
        InputError: What is built is not what was recorded.
    """
    target = environment_path(workspace, environment.digest)
    if target.is_dir():
        return
    if environment.python != _python():
        raise InfrastructureError(
            f"{environment.repository_id}: its environment is for {environment.python} and this is "
            f"{_python()}; use that Python, or run the repositories stage again"
        )
    pip = Pip(workspace, key=f"{environment.repository_id}: lock", seconds=600)
    with staging(workspace.environments) as private:
        site = _create(private / "venv")
        pip.install(private / "venv", environment.lock, locked=True)
        again = _describe(environment.repository_id, environment.recipe, _installed(site), roots)
        if again.digest != environment.digest:
            raise InputError(
                f"{environment.repository_id}: the environment rebuilt from its lock is {again.digest[:12]} "
                f"and was {environment.digest[:12]}; run the repositories stage again"
            )
        _finish(workspace, private / "venv", environment, roots)


def _python() -> str:
    return f"{sys.implementation.name}-{sysconfig.get_config_var('py_version')}"


def _describe(repository_id: str, recipe: Recipe, lock: Sequence[str], roots: Sequence[str]) -> Environment:
    content: JsonValue = {
        "layout": 1,
        "repository": repository_id,
        "recipe": recipe.model_dump(mode="json"),
        "python": _python(),
        "lock": list(lock),
        "roots": list(roots),
    }
    digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
    return Environment(
        digest=digest, repository_id=repository_id, recipe=recipe, python=_python(), lock=tuple(lock)
    )


def _create(folder: Path) -> Path:
    """An empty virtual environment without pip; its site-packages."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return folder / "lib" / version / "site-packages"


def _installed(site: Path) -> list[str]:
    found = distributions(path=[str(site)])
    return sorted(f"{canonicalize_name(dist.metadata['Name'])}=={dist.version}" for dist in found)


def _refuse_itself(repository_id: str, lock: Sequence[str], key: str) -> None:
    """A copy of the repository among the installed packages would be imported in place of `/repo`."""
    name = canonicalize_name(repository_id.partition("@")[0])
    if any(line.partition("==")[0] == name for line in lock):
        allowed = "requirements that do not bring the repository itself"
        raise ConfigError(key, name, allowed, "drop it, or what needs it")


def _finish(workspace: Workspace, folder: Path, environment: Environment, roots: Sequence[str]) -> None:
    site = next(folder.glob("lib/python*/site-packages"))
    _link_repository(site, environment.repository_id, roots)
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
    (folder / "environment.json").write_text(environment.model_dump_json(indent=1))
    publish(folder, environment_path(workspace, environment.digest))


def _link_repository(site: Path, repository_id: str, roots: Sequence[str]) -> None:
    lines = [REPOSITORY_MOUNT if root == "." else f"{REPOSITORY_MOUNT}/{root}" for root in roots]
    (site / "repository.pth").write_text("".join(f"{line}\n" for line in lines))
    name, _, version = repository_id.partition("@")
    info = site / f"{canonicalize_name(name).replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text("swe-flywheel\n")
    (info / "RECORD").write_text(
        "".join(f"{info.name}/{part},,\n" for part in ("METADATA", "INSTALLER", "RECORD"))
    )
