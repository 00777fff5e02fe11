"""Which files of a repository hold code to break: sources, not tests, not packaging."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from components.records.repository import Recipe

_TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "docs", "doc", "examples", "benchmarks", "build", "dist"}
)
_NO_CODE = frozenset({"conftest.py", "setup.py", "noxfile.py"})


def source_files(root: Path, recipe: Recipe, exclude: Sequence[str] = ()) -> Iterator[str]:
    """Paths of the Python files that may get a bug, relative to the repository, sorted."""
    folders = recipe.source_paths or (".",)
    found: set[str] = set()
    for folder in folders:
        base = root / folder
        files = [base] if base.is_file() else base.rglob("*.py")
        found.update(
            path.relative_to(root).as_posix() for path in files if path.is_file() and not path.is_symlink()
        )
    # A test path that holds the sources too (".", "toolz") says nothing about a file in it.
    tests = [PurePosixPath(path) for path in recipe.test_paths if not _holds(path, folders)]
    for path in sorted(found):
        pure = PurePosixPath(path)
        left_out = is_test_file(path) or any(test in (pure, *pure.parents) for test in tests)
        if not left_out and not any(fnmatchcase(path, pattern) for pattern in exclude):
            yield path


def is_test_file(path: str) -> bool:
    """Whether a path looks like a test, an example or packaging, whatever the recipe says."""
    pure = PurePosixPath(path)
    if any(part in _TEST_FOLDERS or part.startswith(".") for part in pure.parts[:-1]):
        return True
    return pure.name in _NO_CODE or pure.name.startswith("test_") or pure.stem.endswith("_test")


def _holds(test_path: str, folders: Sequence[str]) -> bool:
    outer = PurePosixPath(test_path)
    return any(outer in (PurePosixPath(folder), *PurePosixPath(folder).parents) for folder in folders)
