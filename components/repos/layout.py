"""What a tree looks like: where its code is, where its tests are, what to put on the import path."""

import fnmatch
from pathlib import Path, PurePosixPath

from components.records.errors import ConfigError
from components.records.repository import Recipe

_NOT_SOURCE = frozenset(
    {"test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "tools"}
)
_TEST_FILES = ("test_*.py", "*_test.py", "conftest.py")


def complete(recipe: Recipe, tree: Path, key: str) -> Recipe:
    """The recipe with its source paths found out where none are given, and all its paths checked.

    Raises:
        ConfigError: A path is not in the tree, or no code is found.
    """
    for field, paths in (("test_paths", recipe.test_paths), ("source_paths", recipe.source_paths)):
        for path in paths:
            if not (tree / path).exists() or ".." in PurePosixPath(path).parts:
                raise ConfigError(f"{key}.recipe.{field}", path, f"a path of the repository ({_top(tree)})")
    sources = recipe.source_paths or _find_sources(tree, recipe)
    if not sources:
        raise ConfigError(f"{key}.recipe.source_paths", (), f"the folders that hold the code ({_top(tree)})")
    return recipe.model_copy(update={"source_paths": sources})


def source_files(recipe: Recipe, tree: Path) -> list[str]:
    """The Python files that may be changed: below a source path, and no test."""
    found: set[str] = set()
    for path in recipe.source_paths:
        base = tree / path
        files = base.rglob("*.py") if base.is_dir() else [base]
        found |= {file.relative_to(tree).as_posix() for file in files}
    return sorted(path for path in found if not is_test(path, recipe))


def is_test(path: str, recipe: Recipe) -> bool:
    """Whether a file is part of the tests."""
    pure = PurePosixPath(path)
    inside = any(pure.is_relative_to(folder) for folder in recipe.test_paths if folder not in ("", "."))
    folders = {"test", "tests"} & set(pure.parts[:-1])
    return inside or bool(folders) or any(fnmatch.fnmatch(pure.name, pattern) for pattern in _TEST_FILES)


def import_roots(recipe: Recipe, tree: Path) -> tuple[str, ...]:
    """The folders to put on the import path, relative: the root, and the parents of packages below others."""
    roots = ["."]
    for path in recipe.source_paths:
        folder = tree / path
        if folder.is_file():
            folder = folder.parent
        while folder != tree and (folder / "__init__.py").exists():
            folder = folder.parent
        relative = folder.relative_to(tree).as_posix()
        if relative not in roots:
            roots.append(relative)
    return tuple(roots)


def _find_sources(tree: Path, recipe: Recipe) -> tuple[str, ...]:
    if (tree / "src").is_dir():
        return ("src",)
    others = _NOT_SOURCE | set(recipe.test_paths)
    packages = [path.parent.name for path in sorted(tree.glob("*/__init__.py"))]
    packages = [name for name in packages if name not in others]
    modules = [
        path.name
        for path in sorted(tree.glob("*.py"))
        if path.name not in ("setup.py", "noxfile.py") and not is_test(path.name, recipe)
    ]
    return tuple(packages or modules)


def _top(tree: Path) -> str:
    return ", ".join(sorted(path.name for path in tree.iterdir() if path.is_dir() or path.suffix == ".py"))
