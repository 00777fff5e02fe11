"""A source that is not what was pinned: one line, nothing kept."""

import re
from pathlib import Path

import pytest

from components.records.errors import ConfigError
from components.repos.config import RepositoriesConfig
from components.repos.stage import RepositoriesStage
from components.store import Store, Workspace, execute
from components.store.digests import sha256_bytes
from tests.repos.test_archive import tar_of


@pytest.mark.parametrize("workers", [1, 2])
def test_wrong_sha(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    for version in ("1.0", "2.0"):
        made = tar_of(tmp_path / f"lib-{version}.tar.gz", [(f"lib-{version}/lib.py", b"x = 1\n")])
    entries = [{"name": "lib", "version": version, "pin": "0" * 64} for version in ("2.0", "1.0")]
    config = RepositoriesConfig.model_validate({"catalogue": entries[:workers], "workers": workers})
    workspace = Workspace(tmp_path / "ws")
    with pytest.raises(ConfigError) as caught:
        execute(RepositoriesStage(), config, {}, Store(workspace))
    message = str(caught.value)
    assert re.match(r"lib@[12]\.0: repositories\.catalogue\.lib\.pin: '0000", message)
    if workers == 1:
        assert f"allowed: {sha256_bytes(made.read_bytes())}" in message
        assert "lib-2.0.tar.gz is not the file that was pinned" in message
    assert "\n" not in message
    assert caught.value.exit_code == 2
    assert Store(workspace).all() == []
    left = [path for path in workspace.cache.rglob("*") if path.is_file()]
    assert left == []
