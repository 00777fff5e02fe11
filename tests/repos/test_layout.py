"""Where code and tests are."""

from pathlib import Path

import pytest

from components.records.errors import ConfigError
from components.records.repository import Recipe
from components.repos.layout import complete, import_roots, is_test, source_files


def tree(root: Path, *files: str) -> Path:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


@pytest.mark.parametrize(
    ("files", "sources", "roots", "found"),
    [
        (["pkg/__init__.py", "pkg/a.py"], ("pkg",), (".",), ["pkg/__init__.py", "pkg/a.py"]),
        (["src/pkg/__init__.py", "setup.py"], ("src",), (".", "src"), ["src/pkg/__init__.py"]),
        (["module.py", "setup.py", "conftest.py"], ("module.py",), (".",), ["module.py"]),
        (["docs/__init__.py", "pkg/__init__.py"], ("pkg",), (".",), ["pkg/__init__.py"]),
    ],
)
def test_sources_are_found(
    tmp_path: Path, files: list[str], sources: tuple[str, ...], roots: tuple[str, ...], found: list[str]
) -> None:
    root = tree(tmp_path, *files, "tests/__init__.py", "tests/test_a.py")
    recipe = complete(Recipe(), root, "key")
    assert recipe.source_paths == sources
    assert import_roots(recipe, root) == roots
    assert source_files(recipe, root) == found


def test_given_sources_stand(tmp_path: Path) -> None:
    root = tree(tmp_path, "lib/inner/__init__.py", "other/__init__.py", "tests/test_a.py")
    recipe = complete(Recipe(source_paths=("lib/inner",)), root, "key")
    assert recipe.source_paths == ("lib/inner",)
    assert import_roots(recipe, root) == (".", "lib")


def test_tests_inside_a_package_are_no_source(tmp_path: Path) -> None:
    root = tree(
        tmp_path, "pkg/__init__.py", "pkg/tests/test_a.py", "pkg/tests/helper.py", "pkg/sub/conftest.py"
    )
    recipe = complete(Recipe(test_paths=("pkg/tests",)), root, "key")
    assert source_files(recipe, root) == ["pkg/__init__.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pkg/a.py", False),
        ("pkg/contest.py", False),
        ("checks/a.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("pkg/tests/data.py", True),
        ("conftest.py", True),
    ],
)
def test_what_is_a_test(path: str, expected: bool) -> None:
    assert is_test(path, Recipe(test_paths=("checks",))) is expected


@pytest.mark.parametrize(
    "recipe",
    [Recipe(test_paths=("nowhere",)), Recipe(source_paths=("nowhere",)), Recipe(test_paths=("../outside",))],
)
def test_paths_that_are_not_there(tmp_path: Path, recipe: Recipe) -> None:
    (tmp_path / "outside").mkdir()
    root = tree(tmp_path / "root", "pkg/__init__.py", "tests/test_a.py")
    with pytest.raises(
        ConfigError, match=r"key\.recipe\.\w+_paths: .* a path of the repository \(pkg, tests\)"
    ):
        complete(recipe, root, "key")


def test_no_code(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"key\.recipe\.source_paths"):
        complete(Recipe(), tree(tmp_path, "tests/test_a.py"), "key")
