"""Which files may get a bug."""

from pathlib import Path

import pytest

from components.records.repository import Recipe
from components.synthesis.files import is_test_file, source_files


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/a.py", False),
        ("pkg/latest.py", False),
        ("pkg/testing_tools.py", False),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("pkg/tests/a.py", True),
        ("conftest.py", True),
        ("setup.py", True),
        ("docs/conf.py", True),
        (".venv/a.py", True),
    ],
)
def test_is_test_file(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


def test_source_files(tmp_path: Path) -> None:
    for name in ("pkg/a.py", "pkg/b.py", "pkg/checks/c.py", "mod.py", "other/d.py", "pkg/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "pkg/link.py").symlink_to("/etc/passwd")
    recipe = Recipe(source_paths=("pkg", "mod.py"), test_paths=("pkg/checks", "."))
    assert list(source_files(tmp_path, recipe)) == ["mod.py", "pkg/a.py", "pkg/b.py"]
    assert list(source_files(tmp_path, recipe, ["*/b.py"])) == ["mod.py", "pkg/a.py"]
    everything = Recipe(test_paths=("other",))
    assert list(source_files(tmp_path, everything)) == ["mod.py", "pkg/a.py", "pkg/b.py", "pkg/checks/c.py"]
