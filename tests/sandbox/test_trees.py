"""Looking trees up, and choosing a sandbox."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from components.records.errors import ConfigError, InfrastructureError, SandboxError
from components.sandbox import make_sandbox
from components.sandbox.base import Tree
from components.sandbox.bubblewrap import BubblewrapSandbox
from components.sandbox.config import SandboxConfig
from components.sandbox.docker import DockerSandbox
from components.sandbox.host import python_prefixes
from components.sandbox.process import ProcessSandbox
from components.sandbox.trees import environment_path, repo_path, tree_digest, tree_for
from tests.sandbox.daemon import BACKENDS, sandbox_of


def test_a_tree_is_where_it_was_built(tmp_path: Path) -> None:
    workspace = SimpleNamespace(environments=tmp_path / "environments", cache=tmp_path / "cache")
    with pytest.raises(InfrastructureError, match=r"lib@1: its environment .* run the repositories stage"):
        tree_for(workspace, "lib@1", "r" * 64, "e" * 64)
    environment_path(workspace, "e" * 64).mkdir(parents=True)
    with pytest.raises(InfrastructureError, match="lib@1: its tree"):
        tree_for(workspace, "lib@1", "r" * 64, "e" * 64)
    repo_path(workspace, "r" * 64).mkdir(parents=True)
    tree = tree_for(workspace, "lib@1", "r" * 64, "e" * 64)
    assert (tree.environment, tree.repo) == (
        environment_path(workspace, "e" * 64),
        repo_path(workspace, "r" * 64),
    )
    assert tree.digest == tree_digest("r" * 64, "e" * 64)
    assert len({tree_digest(a, b) for a, b in (("1", "2"), ("2", "1"), ("12", ""))}) == 3


def test_the_sandbox_is_the_one_named() -> None:
    assert isinstance(make_sandbox(SandboxConfig()), BubblewrapSandbox)
    assert isinstance(make_sandbox(SandboxConfig(kind="docker")), DockerSandbox)
    assert isinstance(make_sandbox(SandboxConfig(kind="process")), ProcessSandbox)


def test_no_isolation_only_by_name() -> None:
    with pytest.raises(ConfigError, match="isolates nothing"):
        ProcessSandbox(SandboxConfig())
    with pytest.raises(ValidationError):
        SandboxConfig.model_validate({"kind": "none"})
    with pytest.raises(ValidationError):
        SandboxConfig.model_validate({"limit": {}})


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_missing_tree_is_an_error_that_says_so(tmp_path: Path, tree: Tree, kind: str) -> None:
    gone = Tree(environment=tree.environment, repo=tmp_path / "gone", digest="x")
    with pytest.raises(SandboxError, match="run the repositories stage"):
        sandbox_of(kind).open(gone)


@pytest.mark.docker
def test_a_missing_image_is_an_error_that_says_so(tree: Tree) -> None:
    sandbox_of("docker")
    with pytest.raises(ConfigError, match=r"sandbox.docker_image: 'nope:1' .*docker-base.sh"):
        make_sandbox(SandboxConfig(kind="docker", docker_image="nope:1")).open(tree)


def test_an_interpreter_s_folder_is_found_but_never_a_home(tmp_path: Path) -> None:
    home, installed = tmp_path / "home", tmp_path / "pythons" / "3.11"
    for prefix in (home, installed):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").write_text("")
    (installed / "lib" / "python3.11").mkdir(parents=True)
    for prefix, expected in ((home, []), (installed, [installed])):
        environment = tmp_path / f"env-{prefix.name}"
        (environment / "bin").mkdir(parents=True)
        (environment / "bin" / "python").symlink_to(prefix / "bin" / "python")
        (environment / "pyvenv.cfg").write_text(f"home = {prefix}/bin\n")
        assert python_prefixes(environment) == expected
