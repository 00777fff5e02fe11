"""Which lines each test executes: coverage.py if the environment has it, else a trace function."""
# No pathlib here: it is Python code that somebody could have replaced.
# ruff: noqa: PTH112, PTH118

import os
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any


def measure(root: str, sources: "list[str]", tests: "list[str]") -> "_Coverage | _Trace":
    """What to measure with.

    Args:
        root: The repository.
        sources: Folders or files to measure; all of the repository if there are none.
        tests: Prefixes of files that are never measured.
    """
    measured = tuple(os.path.join(root, path).rstrip("/") for path in sources) or (root,)
    excluded = tuple(os.path.join(root, path) for path in tests)

    def counts(path: str) -> bool:
        inside = any(path == base or path.startswith(base + "/") for base in measured)
        return inside and not path.startswith(excluded)

    try:
        import coverage
    except ImportError:
        return _Trace(root, counts)
    if getattr(coverage, "__version__", "0").split(".")[0] < "5":
        return _Trace(root, counts)
    return _Coverage(root, counts, measured)


def _records(root: str, found: "dict[str, dict[str, list[int]]]") -> "Iterator[dict[str, Any]]":
    for test, files in sorted(found.items()):
        lines = {path[len(root) + 1 :]: sorted(numbers) for path, numbers in sorted(files.items())}
        yield {"kind": "coverage", "test": test, "files": lines}


class _Coverage:
    def __init__(self, root: str, counts: Callable[[str], bool], measured: "tuple[str, ...]") -> None:
        import coverage

        self.root, self.counts = root, counts
        include = [f"{base}/*" if os.path.isdir(base) else base for base in measured]
        self.tool: Any = coverage.Coverage(data_file=None, config_file=False, include=include)

    def start(self) -> None:
        self.tool.start()

    def context(self, test: str) -> None:
        self.tool.switch_context(test)

    def finish(self) -> "Iterator[dict[str, Any]]":
        self.tool.stop()
        data = self.tool.get_data()
        found: dict[str, dict[str, list[int]]] = {}
        for path in sorted(data.measured_files()):
            if self.counts(path):
                for line, tests in data.contexts_by_lineno(path).items():
                    for test in tests:
                        found.setdefault(test, {}).setdefault(path, []).append(line)
        return _records(self.root, found)


class _Trace:
    def __init__(self, root: str, counts: Callable[[str], bool]) -> None:
        self.root, self.counts = root, counts
        self.known: dict[CodeType, bool] = {}
        self.found: dict[str, dict[str, set[int]]] = {}
        self.now: dict[str, set[int]] = self.found.setdefault("", {})

    def start(self) -> None:
        import threading

        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def context(self, test: str) -> None:
        self.now = self.found.setdefault(test, {})

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        counted = self.known.get(code)
        if counted is None:
            counted = self.known[code] = self.counts(code.co_filename)
        if not counted:
            return None
        path = code.co_filename

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            if event == "line":
                self.now.setdefault(path, set()).add(frame.f_lineno)
            return local

        return local

    def finish(self) -> "Iterator[dict[str, Any]]":
        sys.settrace(None)
        return _records(
            self.root, {t: {p: list(n) for p, n in f.items()} for t, f in self.found.items() if f}
        )
