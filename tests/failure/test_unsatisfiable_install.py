"""Requirements that cannot be installed: one line, no half-built environment."""

from pathlib import Path

import pytest

from components.records.errors import ConfigError
from components.store import Store, Workspace
from tests.conftest import build_tiny


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("iniconfig==99.0", "iniconfig==99.0"),
        ("pytest==8.0.0", "conflict|pytest==8.0.0"),
    ],
    ids=["no such version", "against the test tools"],
)
def test_unsatisfiable_install(tmp_path: Path, requirement: str, message: str) -> None:
    workspace = Workspace(tmp_path)
    with pytest.raises(ConfigError, match=message) as caught:
        build_tiny(workspace, recipe={"install": [requirement]})
    text = str(caught.value)
    assert text.startswith("tinylib@1.0: repositories.catalogue.tinylib.recipe.install: ")
    assert "pip says: " in text
    assert "\n" not in text
    assert caught.value.exit_code == 2
    assert Store(workspace).all() == []
    assert not workspace.environments.exists()
    assert not list((workspace.cache / "venvs").iterdir())
