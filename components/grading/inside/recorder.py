"""The pytest plugin that records what happened to each test."""

import time
from collections.abc import Callable, Generator
from hashlib import sha256
from inspect import unwrap
from types import TracebackType
from typing import Any

import pytest

_MAX_MESSAGE = 2000
_MAX_FRAMES = 40


def identity(item: Any) -> "list[Any]":
    """What a test would run: file, line and hash of its code, and the names of what it overrides itself."""
    function = getattr(item, "obj", None)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    own = [name for name in ("runtest", "setup", "teardown", "reportinfo") if name in vars(item)]
    if code is None:
        return [type(function).__qualname__, 0, "", own]
    return [code.co_filename, code.co_firstlineno, sha256(code.co_code).hexdigest()[:16], own]


class Recorder:
    """Collects outcomes and hands one record per test to `emit`."""

    def __init__(self, config: "dict[str, Any]", root: str, emit: Callable[["dict[str, Any]"], None]) -> None:
        self.wanted = frozenset(config["tests"])
        self.prefixes = tuple(t.rstrip("/") + "/" for t in config["tests"] if "::" not in t)
        self.seed: str = config["seed"]
        self.watch: dict[str, list[int]] = config["watch"]
        self.root, self.emit = root, emit
        self.emitted = 0
        self.phases: dict[str, dict[str, Any]] = {}
        self.context: Callable[[str], None] = lambda test: None

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> None:
        """The repository becomes importable only now, after every plugin of the environment is loaded."""
        self.ready(early_config.pluginmanager)

    def ready(self, plugins: Any) -> None:
        """Replaced by `main`."""

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Generator[None, Any, None]:
        """Files that could not be collected, or were skipped as a whole."""
        outcome = yield
        report = outcome.get_result()
        if report.outcome != "passed":
            call = getattr(report, "call", None)
            error = None if call is None or call.excinfo is None else call.excinfo.value
            # pytest wraps an ImportError in an error of its own, which holds text only.
            error = getattr(error, "__cause__", None) or error
            record = {"kind": "collect", "file": str(collector.nodeid), "outcome": str(report.outcome)}
            self.emit({**record, "failure": self.failure(error, "collect", str(report.longrepr))})

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: "list[Any]") -> Generator[None, None, None]:
        """Only what was asked for, whatever is in its name; in another order if there is a seed."""
        yield
        if self.wanted:
            kept: list[Any] = []
            dropped: list[Any] = []
            for item in items:
                (kept if self.asked(item) else dropped).append(item)
            if dropped:
                items[:] = kept
                config.hook.pytest_deselected(items=dropped)
        if self.seed:
            items.sort(key=lambda item: (self.rank(item.nodeid.partition("::")[0]), self.rank(item.nodeid)))

    def asked(self, item: Any) -> bool:
        """Whether a test, its function without parameters, its class, file or a folder of it was asked for."""
        nodes = [str(node.nodeid) for node in item.listchain()]
        function = getattr(item, "originalname", None)
        if function and len(nodes) > 1:
            nodes.append(f"{nodes[-2]}::{function}")
        return not self.wanted.isdisjoint(nodes) or nodes[-1].startswith(self.prefixes)

    def rank(self, name: str) -> str:
        """Place of a name in the order of this run."""
        return sha256(f"{self.seed}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()

    def pytest_collection_finish(self, session: Any) -> None:
        """Say what is going to run, and whose code it is."""
        tests = [str(item.nodeid) for item in session.items]
        self.emit({"kind": "collected", "tests": tests, "codes": [identity(item) for item in session.items]})
        for item in session.items:
            code = getattr(unwrap(getattr(item, "function", None) or item), "__code__", None)
            path = getattr(code, "co_filename", "")
            name = path[len(self.root) + 1 :] if path.startswith(self.root + "/") else ""
            if code is not None and code.co_firstlineno in self.watch.get(name, ()):
                where = [name, code.co_firstlineno, code.co_name]
                self.emit(
                    {"kind": "event", "event": "foreign_test", "detail": str(item.nodeid), "frames": [where]}
                )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """One record per test, after its last phase."""
        self.phases = {}
        start = time.perf_counter()
        self.context(str(item.nodeid))
        yield
        self.context("")
        phases, self.phases = self.phases, {}
        self.emitted += 1
        self.emit(
            {
                "kind": "test",
                "test": str(item.nodeid),
                "phases": {name: phase["outcome"] for name, phase in phases.items()},
                "failure": next((phase["failure"] for phase in phases.values() if phase["failure"]), None),
                "seconds": time.perf_counter() - start,
            }
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> None:
        """Whose code is about to run, which has to be what was collected."""
        self.emit({"kind": "call", "test": str(item.nodeid), "code": identity(item)})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """The outcome of a phase, checked against the exception that was seen."""
        outcome = yield
        report = outcome.get_result()
        result = str(report.outcome)
        problems = []
        if hasattr(report, "wasxfail"):
            result = {"skipped": "xfailed", "passed": "xpassed"}.get(result, result)
        elif result == "passed" and call.excinfo is not None:
            problems.append(f"{item.nodeid}: reported as passed although it raised")
        failed = result == "failed"
        error = None if call.excinfo is None else call.excinfo.value
        phase = str(call.when)
        known = self.phases.get(phase)
        if known is not None and phase != "call":
            problems.append(f"{item.nodeid}: {phase} was reported twice")
        # The parts of a test (subTest) are reported as calls of it: one failure counts, else the last word.
        if known is None or (known["outcome"] != "failed" and known["outcome"] != result) or problems:
            # Said at once, while nothing else can run: what is kept for later could be changed until then.
            emit = {"kind": "phase", "test": str(item.nodeid), "when": phase, "outcome": result}
            self.emit({**emit, "problems": problems})
        if known is None or known["outcome"] != "failed":
            failure = self.failure(error, phase, str(report.longrepr)) if failed else None
            self.phases[phase] = {"outcome": result, "failure": failure}

    def failure(self, error: "BaseException | None", phase: str, text: str) -> "dict[str, Any]":
        """What is known about a failure."""
        if error is None:
            return {"exception": "", "message": text[:_MAX_MESSAGE], "frames": [], "phase": phase}
        kind = type(error)
        try:
            message = str.__getitem__(str(error), slice(_MAX_MESSAGE))
        except Exception:  # noqa: BLE001 -- the text of an exception is code of the repository
            message = ""
        name = (
            kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        )
        return {
            "exception": name,
            "message": message,
            "frames": self.frames(error.__traceback__),
            "phase": phase,
        }

    def frames(self, trace: "TracebackType | None") -> "list[list[Any]]":
        """Entries of a traceback that lie in the repository."""
        out: list[list[Any]] = []
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename.startswith(self.root + "/"):
                out.append([code.co_filename[len(self.root) + 1 :], trace.tb_lineno, code.co_name])
            trace = trace.tb_next
        return out if len(out) <= _MAX_FRAMES else out[: _MAX_FRAMES // 2] + out[-_MAX_FRAMES // 2 :]
