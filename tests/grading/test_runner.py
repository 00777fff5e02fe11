import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from components.grading.runner import run_tests
from components.grading.testrun import TestRun
from components.records.repository import Recipe
from components.records.repository import TestStatus as Status
from components.sandbox.base import Limits, Sandbox, Tree

Runs = Callable[..., TestRun]
RECIPE = Recipe(test_paths=("tests",), source_paths=("box",))


@pytest.fixture
def runs(tmp_path: Path, tiny_tree: Tree, tiny_sandbox: Sandbox) -> Runs:
    """Runs the tests of a repository that holds these files."""

    def run(files: Mapping[str, str], *tests: str, timeout: float = 30, **options: object) -> TestRun:
        for path, text in files.items():
            place = tmp_path / "repo" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        tree = Tree(environment=tiny_tree.environment, repo=tmp_path / "repo", digest=str(tmp_path))
        recipe = options.pop("recipe", RECIPE)
        assert isinstance(recipe, Recipe)
        with tiny_sandbox.open(tree, limits=Limits(wall_seconds=timeout)) as session:
            return run_tests(session, tests, recipe=recipe, timeout=timeout, **options)  # type: ignore[arg-type]

    return run


EVERY_STATUS = """
import pytest

@pytest.fixture
def broken():
    raise OSError("no")

@pytest.fixture
def breaks_later():
    yield
    raise OSError("late")

def test_passes(): pass
def test_fails(): assert 1 == 2, "one is not two"
def test_error(broken): pass
def test_late_error(breaks_later): pass
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_xfailed(): assert False
@pytest.mark.xfail(run=False)
def test_not_run(): assert False
@pytest.mark.xfail
def test_xpassed(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
def test_skips_itself(): pytest.skip("no")
"""


def test_every_status(runs: Runs) -> None:
    run = runs({"tests/test_a.py": EVERY_STATUS})
    assert {test.partition("::")[2]: status.value for test, status in run.statuses.items()} == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_error": "error",
        "test_late_error": "error",
        "test_skipped": "skipped",
        "test_xfailed": "xfailed",
        "test_not_run": "xfailed",
        "test_xpassed": "xpassed",
        "test_strict": "failed",
        "test_skips_itself": "skipped",
    }
    assert run.trusted, run.problems
    assert run.exit_code == 1
    assert set(run.durations) == set(run.statuses)


NAMES = [
    "a b",
    "x::y",
    "[100%]",
    "naïve ☃",
    "a/b",
    "tab\\there",
    "'quoted' \"twice\"",
    "-k",
    "",
    "[",
    "a[b]c",
    "None",
]


def test_names_of_tests_are_never_parsed(runs: Runs) -> None:
    mark = f"@pytest.mark.parametrize('v', range({len(NAMES)}), ids={NAMES!r})"
    text = f"import pytest\n{mark}\ndef test_v(v): assert v % 2\n"
    everything = runs({"tests/test_a.py": text})
    assert len(everything.statuses) == len(NAMES)
    assert everything.trusted, everything.problems
    assert set(everything.statuses.values()) == {Status.PASSED, Status.FAILED}
    one = [test for test in everything.statuses if "☃" in test or "x::y" in test or "100" in test]
    assert len(one) >= 2  # pytest escapes what is not ASCII
    again = runs({}, *one)
    assert again.statuses == {test: everything.statuses[test] for test in one}


def test_a_function_or_a_class_stands_for_its_tests(runs: Runs) -> None:
    """As for pytest itself. Files of the suite of pydash hold little else, and no line of theirs was localised."""
    text = """
import pytest
@pytest.mark.parametrize("v", [1, 2])
def test_v(v): assert v == 1
def test_vv(): pass
class TestA:
    def test_a(self): pass
    @pytest.mark.parametrize("v", [1, "x::y"])
    def test_b(self, v): pass
class TestAB:
    def test_a(self): pass
"""
    file = "tests/test_a.py"
    run = runs({file: text}, f"{file}::test_v", f"{file}::TestA")
    assert run.statuses == {
        f"{file}::test_v[1]": Status.PASSED,
        f"{file}::test_v[2]": Status.FAILED,
        f"{file}::TestA::test_a": Status.PASSED,
        f"{file}::TestA::test_b[1]": Status.PASSED,
        f"{file}::TestA::test_b[x::y]": Status.PASSED,
    }
    assert run.trusted, run.problems
    assert len(runs({}, f"{file}::TestA::test_b").statuses) == 2


def test_what_was_asked_for_and_is_not_there_is_missing(runs: Runs) -> None:
    files = {
        "tests/test_a.py": "def test_a(): pass\ndef test_b(): pass\n",
        "tests/sub/test_c.py": "def test_c(): pass\n",
    }
    run = runs(files, "tests/test_a.py::test_a", "tests/test_a.py::test_gone", "tests/test_gone.py::test_a")
    assert {test: status.value for test, status in run.statuses.items()} == {
        "tests/test_a.py::test_a": "passed",
        "tests/test_a.py::test_gone": "missing",
        "tests/test_gone.py::test_a": "missing",
    }
    assert run.trusted, run.problems
    nothing = runs({}, "tests/test_gone.py::test_a")
    assert nothing.statuses == {"tests/test_gone.py::test_a": Status.MISSING}
    assert nothing.trusted, nothing.problems
    assert set(runs({}, "tests/sub").statuses) == {"tests/sub/test_c.py::test_c"}
    assert set(runs({}, "tests/test_a.py").statuses) == {"tests/test_a.py::test_a", "tests/test_a.py::test_b"}


def test_a_file_that_cannot_be_imported(runs: Runs) -> None:
    files = {
        "box/__init__.py": "",
        "box/core.py": "def a():\n    pass\n\nraise KeyError('broken')\n",
        "tests/test_a.py": "from box import core\ndef test_a(): pass\n",
        "tests/test_b.py": "from box import nothing\ndef test_b(): pass\n",
        "tests/test_c.py": "def test_c(): pass\n",
    }
    asked = [f"tests/test_{n}.py::test_{n}" for n in "abc"]
    run = runs(files, *asked)
    assert [run.statuses[test].value for test in asked] == ["error", "error", "passed"]
    failure = run.failures["tests/test_a.py"]
    assert (failure.exception, failure.message, failure.phase) == ("KeyError", "'broken'", "collect")
    assert [(frame.path, frame.line) for frame in failure.frames] == [
        ("tests/test_a.py", 1),
        ("box/core.py", 4),
    ]
    assert run.failures["tests/test_b.py"].exception == "ImportError"
    assert run.trusted, run.problems


def test_a_file_that_skips_itself(runs: Runs) -> None:
    text = "import pytest\npytest.skip('no', allow_module_level=True)\ndef test_a(): pass\n"
    run = runs({"tests/test_a.py": text}, "tests/test_a.py::test_a")
    assert run.statuses == {"tests/test_a.py::test_a": Status.SKIPPED}
    assert run.trusted, run.problems


def test_why_a_test_failed(runs: Runs) -> None:
    files = {
        "box/__init__.py": "def outer(x):\n    return inner(x)\n\ndef inner(x):\n    return 1 / x\n",
        "tests/test_a.py": "import box\ndef test_a():\n    box.outer(0)\n",
    }
    failure = runs(files).failures["tests/test_a.py::test_a"]
    assert (failure.exception, failure.message, failure.phase) == (
        "ZeroDivisionError",
        "division by zero",
        "call",
    )
    assert [(f.path, f.line, f.function) for f in failure.frames] == [
        ("tests/test_a.py", 3, "test_a"),
        ("box/__init__.py", 2, "outer"),
        ("box/__init__.py", 5, "inner"),
    ]


def test_errors_that_resist(runs: Runs) -> None:
    text = """
class Mute(Exception):
    def __str__(self):
        raise ValueError

class Deep(Exception):
    pass

def test_mute():
    raise Mute

def test_long():
    raise Deep("x" * 100_000)

def test_deep():
    test_deep()
"""
    run = runs({"tests/test_a.py": text})
    assert {status.value for status in run.statuses.values()} == {"failed"}
    assert run.failures["tests/test_a.py::test_mute"].message == ""
    assert len(run.failures["tests/test_a.py::test_long"].message) == 2000
    assert len(run.failures["tests/test_a.py::test_deep"].frames) == 40
    assert run.trusted, run.problems


def test_a_test_that_hangs_is_named(runs: Runs) -> None:
    text = "def test_a(): pass\ndef test_b():\n    while True: pass\ndef test_c(): pass\n"
    run = runs(
        {"tests/test_a.py": text},
        "tests/test_a.py::test_a",
        "tests/test_a.py::test_c",
        "tests/test_a.py::test_b",
        timeout=2,
    )
    assert run.timed_out
    assert run.hung == "tests/test_a.py::test_b"
    assert [run.statuses[f"tests/test_a.py::test_{n}"].value for n in "abc"] == [
        "passed",
        "missing",
        "missing",
    ]


def test_a_crash_of_the_interpreter(runs: Runs) -> None:
    text = "import os, signal\ndef test_a(): pass\ndef test_b(): os.kill(os.getpid(), signal.SIGSEGV)\n"
    run = runs({"tests/test_a.py": text}, "tests/test_a.py::test_a", "tests/test_a.py::test_b")
    assert run.killed == "signal 11"
    assert not run.timed_out
    assert run.statuses["tests/test_a.py::test_b"] is Status.MISSING


def test_too_much_memory(runs: Runs) -> None:
    text = "def test_a():\n    x = []\n    while True: x.append(bytearray(10_000_000))\n"
    run = runs({"tests/test_a.py": text}, "tests/test_a.py::test_a")
    assert run.killed == "memory" or run.failures["tests/test_a.py::test_a"].exception == "MemoryError"


def test_stopping_at_the_first_failure(runs: Runs) -> None:
    text = "def test_a(): assert 0\ndef test_b(): assert 0\n"
    run = runs({"tests/test_a.py": text}, fail_fast=True)
    assert run.statuses == {"tests/test_a.py::test_a": Status.FAILED}
    assert run.trusted, run.problems


def test_orders(runs: Runs) -> None:
    files = {f"tests/test_{n}.py": "".join(f"def test_{m}(): pass\n" for m in range(5)) for n in range(5)}
    plain, one, other = runs(files), runs(files, seed="1"), runs(files, seed="2")
    assert list(runs(files, seed="1").statuses) == list(one.statuses)
    assert len({tuple(run.statuses) for run in (plain, one, other)}) == 3
    assert plain.statuses == one.statuses == other.statuses


def test_parts_of_a_test(runs: Runs) -> None:
    text = """
import unittest

class TestParts(unittest.TestCase):
    def test_all_pass(self):
        for n in range(3):
            with self.subTest(n=n):
                pass

    def test_one_fails(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)

    def test_one_is_skipped(self):
        for n in range(3):
            with self.subTest(n=n):
                if n == 1:
                    self.skipTest("no")

    @unittest.skip("no")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.fail()
"""
    run = runs({"tests/test_a.py": text})
    assert {test.rpartition("::")[2]: status.value for test, status in run.statuses.items()} == {
        "test_all_pass": "passed",
        "test_one_fails": "failed",
        "test_one_is_skipped": "passed",
        "test_skipped": "skipped",
        "test_expected": "xfailed",
    }
    assert run.trusted, run.problems


def test_a_name_that_two_tests_share_names_no_test(runs: Runs) -> None:
    conftest = "def pytest_collection_modifyitems(items): items.append(items[0])\n"
    run = runs({"conftest.py": conftest, "tests/test_a.py": "def test_a(): pass\ndef test_b(): pass\n"})
    assert run.statuses == {"tests/test_a.py::test_a": Status.ERROR, "tests/test_a.py::test_b": Status.PASSED}
    assert not run.trusted


SURROUNDINGS = """
import os, sys

def test_surroundings():
    assert not sys.flags.hash_randomization
    assert sys.flags.no_site and sys.flags.no_user_site and sys.flags.dont_write_bytecode
    assert not [name for name in os.environ if "FLYWHEEL" in name]
    assert not [name for name in sys.modules if name.startswith("components")]
    assert "" not in sys.path
    assert os.read(0, 1) == b""
    assert "sitecustomize" not in sys.modules

def test_no_key_in_reach():
    frame, seen = sys._getframe(), []
    while frame is not None:
        seen += [v for v in frame.f_locals.values() if isinstance(v, bytes) and len(v) == 32]
        frame = frame.f_back
    assert not seen

def test_import(): import box
"""


@pytest.mark.parametrize("folder", ["box", "src/box"])
def test_surroundings(runs: Runs, folder: str) -> None:
    recipe = Recipe(test_paths=("tests",), source_paths=(folder,))
    files = {
        f"{folder}/__init__.py": "",
        "tests/test_a.py": SURROUNDINGS,
        "sitecustomize.py": "raise SystemExit\n",
    }
    run = runs(files, recipe=recipe)
    assert {status.value for status in run.statuses.values()} == {"passed"}, run.output
    assert run.trusted, run.problems


def test_plugins_of_the_repository_are_not_loaded_by_their_metadata(runs: Runs) -> None:
    files = {
        "evil.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        "evil.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1\n",
        "evil.py": "import os\nos._exit(0)\n",
        "tests/test_a.py": "def test_a(): pass\n",
    }
    run = runs(files)
    assert run.statuses == {"tests/test_a.py::test_a": Status.PASSED}


def test_configuration_and_arguments_of_the_repository_count(runs: Runs) -> None:
    files = {
        "pytest.ini": "[pytest]\npython_files = check_*.py\n",
        "tests/check_a.py": "import pytest\n@pytest.mark.slow\ndef test_a(): pass\ndef test_b(): pass\n",
    }
    recipe = Recipe(test_paths=("tests",), pytest_args=("-m", "not slow", "-W", "ignore"))
    assert set(runs(files, recipe=recipe).statuses) == {"tests/check_a.py::test_b"}


def test_lines_of_each_test(runs: Runs) -> None:
    files = {
        "box/__init__.py": "def sign(x):\n    if x < 0:\n        return -1\n    return 1\n",
        "tests/test_a.py": "from box import sign\ndef test_n(): sign(-1)\ndef test_p(): sign(1)\n",
    }
    run = runs(files, coverage=True)
    assert run.trusted, run.problems
    assert run.coverage["tests/test_a.py::test_n"] == {"box/__init__.py": (2, 3)}
    assert run.coverage["tests/test_a.py::test_p"] == {"box/__init__.py": (2, 4)}
    assert run.coverage[""] == {"box/__init__.py": (1,)}
    assert runs(files).coverage == {}


def test_what_watched_lines_do_is_told(runs: Runs) -> None:
    source = """import gc, os, socket, subprocess, sys

def honest():
    return sys._getframe().f_lineno

def walk():
    return len(gc.get_objects())

def call():
    subprocess.run(["true"])
    try:
        socket.create_connection(("127.0.0.1", 1))
    except OSError:
        pass

def write(path):
    try:
        open(path, "w").close()
    except OSError:
        pass

def read(path):
    open(path).close()
"""
    tests = """
import box

def test_all(tmp_path):
    box.honest(); box.walk(); box.call()
    for path in (str(tmp_path / "x"), "inside", "/env/x", "../x", "/repo/../x"):
        box.write(path)
    box.read("/proc/self/environ"); box.read("/env/pyvenv.cfg")
"""
    files = {"box/__init__.py": source, "tests/test_a.py": tests}
    assert runs(files).events == ()
    run = runs(files, watch={"box/__init__.py": range(5, 40)})
    assert run.trusted, run.problems
    found = {(event.kind, re.sub(r"/usr/bin/|/bin/", "", event.detail)) for event in run.events}
    assert found == {
        ("introspection", "gc.get_objects"),
        ("process", "subprocess.Popen"),
        ("network", "socket.getaddrinfo"),
        ("network", "socket.connect"),
        ("write_outside", "open /env/x"),
        ("write_outside", "open /x"),
        ("proc_access", "open /proc/self/environ"),
    }
    assert runs(files, watch={"box/__init__.py": [4]}).events[0].kind == "frame"
