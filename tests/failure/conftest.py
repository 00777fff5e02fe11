"""Every way to cheat is tried in every sandbox that isolates."""

import pytest

from components.records.repository import Recipe
from components.sandbox import make_sandbox
from components.sandbox.base import Sandbox, Tree
from components.sandbox.config import SandboxConfig
from tests.failure.hacking import Attempt


def _docker_answers() -> bool:
    import docker

    try:
        client = docker.from_env()
        client.ping()
    except docker.errors.DockerException:
        return False
    client.close()
    return True


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def isolating_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that isolates."""
    if request.param == "docker" and not _docker_answers():
        pytest.skip("no docker daemon answers")
    return make_sandbox(SandboxConfig(kind=request.param))


@pytest.fixture
def attempt(tiny_tree: Tree, isolating_sandbox: Sandbox, tiny_recipe: Recipe) -> Attempt:
    """Grades submissions to a task of the tiny repository."""
    return Attempt(tiny_tree, isolating_sandbox, tiny_recipe)
