"""A bench on the tiny repository."""

import pytest

from components.records.repository import Recipe
from components.sandbox.base import Sandbox, Tree
from tests.agents.support import Bench


@pytest.fixture(scope="session")
def bench(tiny_sandbox: Sandbox, tiny_tree: Tree, tiny_recipe: Recipe) -> Bench:
    return Bench(tiny_sandbox, tiny_tree, tiny_recipe)
