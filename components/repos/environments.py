"""Environments: one virtual environment per repository version, built once, addressed by what is in it.

What runs outside the sandbox is `pip` alone, and only for pinned wheels: a wheel is unpacked, never run. The
repository itself is not installed and none of its code runs here; the environment knows it by a `.pth` line
that leads to `/repo`, where every sandbox mounts the tree, and by a `.dist-info` with its name and version,
as an editable install would have. There is no pip in the environment.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from packaging.utils import canonicalize_name
from pydantic import JsonValue

from components.records.errors import ConfigError, InfrastructureError, InputError
from components.records.repository import Environment, Recipe
from components.repos.pip import Pip
from components.repos.tree import publish, staging
from components.repos.venvs import locked, python_version, resolved, site_packages
from components.sandbox.base import REPO
from components.sandbox.trees import environment_path
from components.store.digests import sha256_json
from components.store.workspace import Workspace


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
    key = f"{key}.recipe.install"
    requirements = sorted({*tools, *recipe.install})
    base, lock = resolved(workspace, requirements, Pip(workspace, key=key, seconds=seconds))
    _refuse_itself(repository_id, lock, key)
    environment = _describe(repository_id, recipe, lock, roots)
    _assemble(workspace, base, environment, roots)
    return environment


def restore_environment(workspace: Workspace, environment: Environment, roots: Sequence[str]) -> None:
    """Build a recorded environment again from its lock, unless it is there.

    Raises:
        InfrastructureError: It was made with another Python than this one.
        InputError: What is built is not what was recorded.
    """
    if environment_path(workspace, environment.digest).is_dir():
        return
    repository = environment.repository_id
    if environment.python != python_version():
        raise InfrastructureError(
            f"{repository}: its environment is for {environment.python} and this is {python_version()}; "
            "use that Python, or run the repositories stage again"
        )
    again = _describe(repository, environment.recipe, environment.lock, roots)
    if again.digest != environment.digest:
        raise InputError(
            f"{repository}: the environment of its lock is {again.digest[:12]} and was recorded as "
            f"{environment.digest[:12]}; run the repositories stage again"
        )
    base = locked(workspace, environment.lock, Pip(workspace, key=f"{repository}: lock", seconds=600))
    _assemble(workspace, base, environment, roots)


def _describe(repository_id: str, recipe: Recipe, lock: Sequence[str], roots: Sequence[str]) -> Environment:
    content: JsonValue = {
        "layout": 1,
        "repository": repository_id,
        "recipe": recipe.model_dump(mode="json"),
        "python": python_version(),
        "lock": list(lock),
        "roots": list(roots),
    }
    return Environment(
        digest=sha256_json(content),
        repository_id=repository_id,
        recipe=recipe,
        python=python_version(),
        lock=tuple(lock),
    )


def _refuse_itself(repository_id: str, lock: Sequence[str], key: str) -> None:
    """A copy of the repository among the installed packages would be imported in place of `/repo`."""
    name = canonicalize_name(repository_id.partition("@")[0])
    if any(line.partition("==")[0] == name for line in lock):
        allowed = "requirements that do not bring the repository itself"
        raise ConfigError(key, name, allowed, "drop it, or what needs it")


def _assemble(workspace: Workspace, base: Path, environment: Environment, roots: Sequence[str]) -> None:
    target = environment_path(workspace, environment.digest)
    if target.is_dir():
        return
    with staging(workspace, workspace.environments, environment.digest) as private:
        folder = private / "venv"
        shutil.copytree(base, folder, symlinks=True)
        _link_repository(site_packages(folder), environment.repository_id, roots)
        (folder / "environment.json").write_text(environment.model_dump_json(indent=1))
        publish(folder, target)


def _link_repository(site: Path, repository_id: str, roots: Sequence[str]) -> None:
    lines = [REPO if root == "." else f"{REPO}/{root}" for root in roots]
    (site / "repository.pth").write_text("".join(f"{line}\n" for line in lines))
    name, _, version = repository_id.partition("@")
    info = site / f"{canonicalize_name(name).replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "INSTALLER").write_text("swe-flywheel\n")
    parts = ("METADATA", "INSTALLER", "RECORD")
    (info / "RECORD").write_text("".join(f"{info.name}/{part},,\n" for part in parts))
