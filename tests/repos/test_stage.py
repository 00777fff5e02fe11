"""The whole stage on the tiny repository, in the default sandbox."""

import shutil
from pathlib import Path

import pytest

from components.records.repository import BaselineTest, Coverage, Environment, Repository, TestStatus
from components.repos.trees import ensure_trees
from components.sandbox.base import Sandbox, Tree
from components.sandbox.trees import environment_path, repo_path
from components.store import Dataset, Workspace
from tests.conftest import TINYLIB, build_tiny

CLAMP = "tests/test_numbers.py::test_clamp[-1-0]"


def test_repository(tiny_repository: Repository, tiny_environment: Environment) -> None:
    assert tiny_repository.id == "tinylib@1.0"
    assert tiny_repository.licence.spdx == "MIT"
    assert tiny_repository.tree_sha256 == tiny_repository.source.pin
    assert tiny_repository.environment == tiny_environment.digest
    assert tiny_environment.recipe.source_paths == ("tinylib",)
    assert {line.partition("==")[0] for line in tiny_environment.lock} >= {"pytest", "coverage"}


def test_only_tests_that_pass_every_time_are_stable(tiny_dataset: Dataset) -> None:
    rows = {row.test: row for row in tiny_dataset.rows("baseline", BaselineTest)}
    assert len(rows) == 18
    assert {row.test for row in rows.values() if not row.stable} == {"tests/test_numbers.py::test_skipped"}
    assert rows[CLAMP].statuses == (TestStatus.PASSED,) * 3


def test_the_map_says_what_a_test_executes(tiny_dataset: Dataset) -> None:
    rows = {(row.test, row.path): row.lines for row in tiny_dataset.rows("coverage", Coverage)}
    lines = (TINYLIB / "tinylib/numbers.py").read_text().splitlines()
    low = lines.index("        return low") + 1
    head = lines.index("def clamp(value, low=0, high=10):") + 1
    high = lines.index("        return high") + 1
    covered = rows[CLAMP, "tinylib/numbers.py"]
    assert {head, low} <= set(covered)
    assert high not in covered
    assert {path for test, path in rows if test} == {"tinylib/numbers.py", "tinylib/words.py"}
    imported = rows["", "tinylib/numbers.py"]  # the head of a function runs then, its body does not
    assert head in imported and low not in imported


def test_nothing_in_the_environment_says_where_it_was_built(
    tiny_tree: Tree, tiny_workspace: Workspace
) -> None:
    for path in (tiny_tree.environment / "bin").iterdir():
        if path.is_file():
            assert str(tiny_workspace.root).encode() not in path.read_bytes()
    assert not (tiny_tree.environment / "bin/pip").exists()
    assert not list(tiny_workspace.environments.glob(".staging-*"))


def test_scripts_and_the_repository_work_from_anywhere_in_the_sandbox(
    tiny_sandbox: Sandbox, tiny_tree: Tree
) -> None:
    code = "import importlib.metadata as m, tinylib; print(tinylib.__file__, m.version('tinylib'))"
    with tiny_sandbox.open(tiny_tree) as session:
        assert "17 passed, 1 skipped" in session.exec(["pytest", "-q", "-p", "no:cacheprovider"]).stdout
        found = session.exec(["sh", "-c", 'cd /tmp && python -c "$CODE"'], env={"CODE": code})
        assert found.stdout.split() == ["/repo/tinylib/__init__.py", "1.0"]
        assert session.exec(["python", "-m", "pip", "--version"]).exit_code != 0


def test_a_second_workspace_gives_the_same_dataset(tmp_path: Path, tiny_dataset: Dataset) -> None:
    assert build_tiny(Workspace(tmp_path)).digest == tiny_dataset.digest


def test_trees_that_are_gone_are_made_again(
    tiny_workspace: Workspace,
    tiny_dataset: Dataset,
    tiny_repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workspace = Workspace(tmp_path)
    # A machine that lost its trees and its network, and kept its wheels.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    shutil.copytree(tiny_workspace.cache / "wheels", workspace.cache / "wheels")
    ensure_trees(workspace, tiny_dataset)
    assert repo_path(workspace, tiny_repository.tree_sha256).is_dir()
    assert environment_path(workspace, tiny_repository.environment).is_dir()
    ensure_trees(workspace, tiny_dataset)
