import pytest

from components.grading.patching import parse_patch
from components.grading.protect import PROTECTED, is_protected, protected_for, split
from components.records.repository import Recipe


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py", "tests/data/x.json", "pkg/tests/helper.py", "pkg/test/x", "test_a.py", "pkg/a_test.py",
        "conftest.py", "pkg/deep/conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "tox.ini", "setup.cfg",
        "pyproject.toml", "sub/pyproject.toml", "sitecustomize.py", "src/usercustomize.py", "evil.pth", "a/b.pth",
        ".git/config", "sub/.git/hooks/x", ".gitattributes", ".github/workflows/ci.yml", ".coveragerc", "noxfile.py",
        "x.egg-info/entry_points.txt", "a-1.dist-info/METADATA", "pkg/__pycache__/a.pyc", "pkg/native.so",
        ".circleci/config.yml", ".travis.yml",
    ],
)  # fmt: skip
def test_protected(path: str) -> None:
    assert is_protected(path)


@pytest.mark.parametrize(
    "path",
    [
        "pkg/core.py", "setup.py", "README.md", "pkg/testing.py", "latest.py", "pkg/contest.py", "attests/x.py",
        "pkg/attest.py", "docs/conf.py",
    ],
)  # fmt: skip
def test_not_protected(path: str) -> None:
    assert not is_protected(path)


def test_test_paths_of_a_recipe() -> None:
    patterns = protected_for(Recipe(test_paths=("checks", "pkg/spec.py")))
    assert set(PROTECTED) < set(patterns)
    assert is_protected("checks/deep/x.py", patterns)
    assert is_protected("pkg/spec.py", patterns)
    assert not is_protected("checks.py", patterns)


def _new(path: str) -> str:
    return f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x = 1\n"


def _edit(path: str) -> str:
    return f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def _split(patch: str, *there: str) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    allowed, dropped, findings = split(parse_patch(patch), PROTECTED, lambda path: path in there)
    return [c.path for c in allowed], [c.path for c in dropped], [(f.kind, f.detail) for f in findings]


def test_what_is_dropped_and_what_is_told() -> None:
    patch = _edit("pkg/a.py") + _edit("tests/test_a.py") + _new("conftest.py") + _new("tests/test_mine.py")
    assert _split(patch, "pkg/a.py", "tests/test_a.py") == (
        ["pkg/a.py"],
        ["tests/test_a.py", "conftest.py", "tests/test_mine.py"],
        [("protected_path", "edits tests/test_a.py"), ("protected_path", "creates conftest.py")],
    )


def test_a_file_may_not_be_moved_over_a_protected_one() -> None:
    names = "rename from x.py\nrename to tests/test_a.py\n"
    patch = f"diff --git a/x.py b/tests/test_a.py\nsimilarity index 100%\n{names}"
    assert _split(patch, "x.py") == ([], ["tests/test_a.py"], [("protected_path", "moves tests/test_a.py")])


@pytest.mark.parametrize(
    ("path", "there", "hides"),
    [
        ("json.py", (), True),
        ("json/__init__.py", (), True),
        ("src/pluggy/__init__.py", (), True),
        ("_pytest/runner.py", (), True),
        ("pkg/json.py", ("pkg/__init__.py",), False),
        ("pkg/deep/types.py", ("pkg/__init__.py", "pkg/deep/__init__.py"), False),
        ("coverage/more.py", ("coverage/__init__.py",), False),
        ("helper.py", (), False),
        ("json.md", (), False),
    ],
)
def test_modules_that_hide_others(path: str, there: tuple[str, ...], hides: bool) -> None:
    kinds = [kind for kind, _ in _split(_new(path), *there)[2]]
    assert kinds == (["shadowed_module"] if hides else [])
