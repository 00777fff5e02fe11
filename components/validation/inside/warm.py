"""Many buggy trees, one interpreter: pytest and what the tests import are loaded once, then forked.

Start-up and the compilation of the test files are most of what a small test run costs. A probe is one file
replaced, some tests run in a forked child, the file put back. Nothing that a probe says is final: what it
lets pass is proven again in fresh sandboxes.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_EPOCH = 1_000_000_000


def main(config: "dict[str, Any]", results: str) -> None:
    """Run every probe; results are `<results>/<probe>.<run>.jsonl`: one record a test, and `end`.

    Args:
        config: `sources`, `arguments`, `collect_seconds`, and `probes` with `files` (as Latin-1 text) and
            `runs`: each `tests`, `cpu_seconds`, `wall_seconds`. A run that passes ends its probe.
        results: A folder out of reach of the tests' names.
    """
    root = os.path.realpath(os.getcwd())
    _adopt_orphans()
    sys.dont_write_bytecode = False  # into the session's copy of the repository
    _preload(config, root)
    _learn(config, root, results)
    gc.freeze()  # children neither scan nor copy what is loaded
    for index, probe in enumerate(config["probes"]):
        saved = {name: _read(os.path.join(root, name)) for name in probe["files"]}
        try:
            for name, content in probe["files"].items():
                _write(os.path.join(root, name), content.encode("latin-1"), _EPOCH + index)
            for number, run in enumerate(probe["runs"]):
                if not _run(config, run, root, os.path.join(results, "%d.%d.jsonl" % (index, number))):
                    break
        finally:
            for name, (pristine, mtime) in saved.items():
                _write(os.path.join(root, name), pristine, mtime)


def _read(path: str) -> "tuple[bytes, int]":
    with open(path, "rb") as file:
        return file.read(), int(os.stat(path).st_mtime)


def _write(path: str, data: bytes, mtime: int) -> None:
    with open(path, "wb") as file:
        file.write(data)
    # Byte code is cached by time and size: a time of its own for each content keeps the cache honest.
    os.utime(path, (mtime, mtime))


def _preload(config: "dict[str, Any]", root: str) -> None:
    """As the grading driver sets the interpreter up, but once for all probes."""
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
    sys.path.append(os.path.join(prefix, "lib", "python%d.%d" % sys.version_info[:2], "site-packages"))
    from _pytest.config import default_plugins

    from components.grading.inside.main import _roots

    for name in default_plugins:
        importlib.import_module("_pytest." + name)
    sys.path[:0] = _roots(root, config["sources"])


def _learn(config: "dict[str, Any]", root: str, results: str) -> None:
    """Collect the untouched tests once: fills the cache of byte code and tells what else to load."""
    found = os.path.join(results, "modules.json")
    runs = [run for probe in config["probes"] for run in probe["runs"]]
    tests = sorted({test.partition("::")[0] for run in runs for test in run["tests"]})
    pid = os.fork()
    if not pid:
        try:
            _quiet()
            before = set(sys.modules)
            _pytest_main([*_arguments(config, root), "--collect-only", "--", *tests], [])
            names = []
            for name, module in sorted(sys.modules.items()):
                path = getattr(module, "__file__", None) or ""
                if name not in before and path.startswith("/") and not path.startswith(root + "/"):
                    names.append(name)
            with open(found, "w") as file:
                json.dump(names, file)
        finally:
            os._exit(0)
    _wait(pid, time.monotonic() + config["collect_seconds"])
    _kill_all()
    with contextlib.suppress(OSError, ValueError):
        with open(found) as file:
            for name in json.load(file):
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def _run(config: "dict[str, Any]", run: "dict[str, Any]", root: str, result: str) -> bool:
    """Run tests in a child; whether it ended by itself and something failed."""
    started = time.monotonic()
    pid = os.fork()
    if not pid:
        code = 0
        try:
            os.setsid()
            _quiet()
            cpu = int(run["cpu_seconds"]) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
            code = _child(config, run, root, result)
        except BaseException:  # noqa: BLE001 -- told, and then the process ends
            with open(result, "a") as file:
                file.write(json.dumps({"kind": "driver", "trace": traceback.format_exc()}) + "\n")
        finally:
            os._exit(code)
    status, seconds = _wait(pid, started + run["wall_seconds"])
    _kill_all()
    if status == signal.SIGKILL and seconds >= int(run["cpu_seconds"]) + 1:
        status = int(signal.SIGXCPU)  # what it would not listen to
    with open(result, "a") as file:
        end = {"kind": "end", "seconds": time.monotonic() - started, "status": status}
        file.write(json.dumps(end) + "\n")
    return status is not None and os.WIFEXITED(status) and status != 0


def _child(config: "dict[str, Any]", run: "dict[str, Any]", root: str, result: str) -> int:
    from components.grading.inside.recorder import Recorder

    handle = os.open(result, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def emit(record: "dict[str, Any]") -> None:
        os.write(handle, (json.dumps(record) + "\n").encode())

    recorder = Recorder({"tests": run["tests"], "seed": "", "watch": {}}, root, emit)
    files = sorted({test.partition("::")[0] for test in run["tests"]})
    return _pytest_main([*_arguments(config, root), "--", *files], [recorder])


def _arguments(config: "dict[str, Any]", root: str) -> "list[str]":
    return [*config["arguments"], "--rootdir", root, "-p", "no:cacheprovider"]


def _pytest_main(arguments: "list[str]", plugins: "list[Any]") -> int:
    import pytest

    return int(pytest.main(arguments, plugins=plugins))


def _quiet() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _adopt_orphans() -> None:
    """Grandchildren whose parent dies become our children, so that we can end them."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(pid: int, deadline: float) -> "tuple[int | None, float]":
    """The wait status of a child, None when its time was up, and the CPU seconds that it took."""
    handle = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None, 0.0
        _, status, usage = os.wait4(pid, 0)
        return status, usage.ru_utime + usage.ru_stime
    finally:
        os.close(handle)


def _kill_all() -> None:
    """End every descendant: killing a child makes its children ours, so the loop reaches all of them."""
    while True:
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> "list[int]":
    own, found = os.getpid(), []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                with open("/proc/%s/stat" % name) as file:
                    if int(file.read().rpartition(")")[2].split()[1]) == own:
                        found.append(int(name))
    return found
