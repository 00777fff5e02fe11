"""A repository without tests, or with none that passes, is no use: one line says so."""

from pathlib import Path

import pytest

from components.records.errors import ConfigError, FlywheelError, InputError
from components.store import Store, Workspace
from tests.conftest import build_tiny


def library(folder: Path, tests: dict[str, str]) -> Path:
    (folder / "lib").mkdir(parents=True)
    (folder / "lib/__init__.py").write_text("")
    for name, text in tests.items():
        (folder / "tests").mkdir(exist_ok=True)
        (folder / "tests" / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("tests", "kind", "message"),
    [
        (
            {},
            ConfigError,
            r"recipe\.test_paths: 'tests' is not allowed; allowed: a path of the repository \(lib\)",
        ),
        ({"helper.py": ""}, InputError, "no tests in tests"),
        (
            {"test_a.py": "def test_a():\n    assert False\n"},
            InputError,
            "none of 1 tests passes in every run",
        ),
        ({"test_a.py": "import nothing_like_it\n"}, InputError, "nothing_like_it"),
    ],
    ids=["no folder", "no test", "none passes", "does not import"],
)
def test_no_tests(
    tiny_workspace: Workspace, tmp_path: Path, tests: dict[str, str], kind: type[FlywheelError], message: str
) -> None:
    folder = library(tmp_path / "untested", tests)
    before = len(Store(tiny_workspace).all())
    with pytest.raises(kind, match=message) as caught:
        build_tiny(tiny_workspace, folder)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("untested@1.0: repositories.catalogue.untested")
    assert len(Store(tiny_workspace).all()) == before
