"""Environments: addressed by content, rebuilt from a lock, never holding the repository itself."""

from pathlib import Path

import pytest

from components.records.errors import ConfigError, InfrastructureError, InputError
from components.records.repository import Environment, Recipe
from components.repos.environments import build_environment, restore_environment
from components.repos.pip import Pip
from components.sandbox.trees import environment_path
from components.store import Workspace

TOOLS = ("iniconfig==2.3.1",)


def build(workspace: Workspace, repository: str = "lib@1.0", recipe: Recipe = Recipe()) -> Environment:  # noqa: B008
    return build_environment(
        workspace,
        repository,
        recipe,
        tools=TOOLS,
        roots=(".", "src"),
        key="repositories.catalogue.lib",
        seconds=120,
    )


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("environments"))


@pytest.fixture(scope="module")
def built(workspace: Workspace) -> Environment:
    return build(workspace)


def test_what_is_in_it(workspace: Workspace, built: Environment) -> None:
    path = environment_path(workspace, built.digest)
    site = next(path.glob("lib/python*/site-packages"))
    assert built.lock == TOOLS
    assert (site / "repository.pth").read_text() == "/repo\n/repo/src\n"
    assert "Name: lib\nVersion: 1.0\n" in (site / "lib-1.0.dist-info/METADATA").read_text()
    assert list(site.glob("iniconfig/__pycache__/*.pyc"))
    assert Environment.model_validate_json((path / "environment.json").read_text()) == built


def test_a_second_time_nothing_is_built(
    workspace: Workspace, built: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere")
    assert build(workspace) == built


@pytest.mark.parametrize(
    ("repository", "recipe"),
    [("lib@1.1", Recipe()), ("other@1.0", Recipe()), ("lib@1.0", Recipe(pytest_args=("-x",)))],
)
def test_another_version_or_recipe_is_another_environment(
    workspace: Workspace, built: Environment, repository: str, recipe: Recipe
) -> None:
    assert build(workspace, repository, recipe).digest != built.digest


def test_rebuilt_from_its_lock(tmp_path: Path, built: Environment) -> None:
    restore_environment(Workspace(tmp_path), built, (".", "src"))
    assert (environment_path(Workspace(tmp_path), built.digest) / "environment.json").exists()


def test_another_python_is_named(tmp_path: Path, built: Environment) -> None:
    other = built.model_copy(update={"python": "cpython-2.7.18"})
    with pytest.raises(InfrastructureError, match=r"for cpython-2\.7\.18 and this is cpython-3"):
        restore_environment(Workspace(tmp_path), other, ())


def test_a_lock_that_gives_something_else(tmp_path: Path, built: Environment) -> None:
    other = built.model_copy(update={"digest": "0" * 64})
    with pytest.raises(InputError, match="run the repositories stage again"):
        restore_environment(Workspace(tmp_path), other, (".", "src"))
    assert not (tmp_path / "environments").exists()


def test_a_repository_that_the_tools_need(workspace: Workspace) -> None:
    with pytest.raises(ConfigError, match="requirements that do not bring the repository itself"):
        build(workspace, "IniConfig@2.3.1")


def test_no_network_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    with pytest.raises(InfrastructureError, match="the package index cannot be reached"):
        build(Workspace(tmp_path))
    assert not list((tmp_path / "cache/venvs").iterdir())


def test_pip_that_takes_too_long(tmp_path: Path) -> None:
    pip = Pip(Workspace(tmp_path), key="repositories.catalogue.lib.recipe.install", seconds=0.01)
    with pytest.raises(InfrastructureError, match="raise install_seconds"):
        pip.install(tmp_path / "venv", TOOLS, locked=False)
