"""Every way to cheat is tried in every sandbox that isolates."""

import pytest

from components.records.repository import Recipe
from components.sandbox.base import Sandbox, Tree
from tests.failure.hacking import Attempt
from tests.sandbox.daemon import BACKENDS, sandbox_of


@pytest.fixture(params=BACKENDS)
def isolating_sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each sandbox that isolates."""
    return sandbox_of(request.param)


@pytest.fixture
def attempt(tiny_tree: Tree, isolating_sandbox: Sandbox, tiny_recipe: Recipe) -> Attempt:
    """Grades submissions to a task of the tiny repository."""
    return Attempt(tiny_tree, isolating_sandbox, tiny_recipe)
