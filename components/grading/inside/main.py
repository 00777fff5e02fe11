"""Runs pytest on what was asked for; started by `runner` inside the sandbox."""
# No pathlib here: it is Python code that somebody could have replaced.
# ruff: noqa: PTH100, PTH109, PTH110, PTH112, PTH118, PTH120

import os
import sys
from typing import Any

from components.grading.inside import channel, coverage, integrity


def _origin(module: Any, site: str) -> None:
    path = getattr(module, "__file__", None) or ""
    if not os.path.realpath(path).startswith(os.path.realpath(site) + "/"):
        raise SystemExit(f"{module.__name__} comes from {path}, not from {site}")


def _roots(root: str, sources: "list[str]") -> "list[str]":
    """Folders to import from: the parents of the source packages, then the repository."""
    out = []
    for source in sources:
        folder = os.path.join(root, source)
        while os.path.exists(os.path.join(folder, "__init__.py")):
            folder = os.path.dirname(folder)
        if os.path.isdir(folder) and folder not in out:
            out.append(folder)
    return out if root in out else [*out, root]


def main(config: "dict[str, Any]", key: bytes, result: str) -> None:
    """Run the tests and leave the process: nothing of the repository's runs after the last record.

    Args:
        config: See `runner.run_tests`.
        key: Signs the records.
        result: Path of the result file.
    """
    root = os.path.realpath(os.getcwd())
    prefix = os.path.dirname(os.path.dirname(os.path.abspath(sys.executable)))
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = os.path.join(prefix, "lib", version, "site-packages")
    # No site module: neither sitecustomize nor .pth files run, whoever wrote them.
    sys.path.append(site)
    import pluggy
    import pytest

    _origin(pytest, site)
    _origin(pluggy, site)
    from components.grading.inside.recorder import Recorder

    for name in [name for name in sys.modules if name.partition(".")[0] == "components"]:
        del sys.modules[name]
    audit = sys.audit

    def emit(record: "dict[str, Any]") -> None:
        audit(channel.EMIT, record)

    recorder = Recorder(config, root, emit)
    places = [os.path.join(root, path) for path in config["trusted"]]
    trusted = tuple(place.rstrip("/") + "/" if os.path.isdir(place) else place for place in places)
    measure = coverage.measure(root, config["sources"], config["trusted"]) if config["coverage"] else None
    armed: list[bytes] = [key]
    del key

    def ready(plugins: Any) -> None:
        # ready <- method of the plugin <- what pluggy calls hooks with, whatever this version names it
        caller = sys._getframe(2)
        check = integrity.snapshot(plugins, recorder, root, trusted)
        speakers = channel.Speakers(
            emitters=frozenset((emit.__code__, finish.__code__)),
            drivers=frozenset((ready.__code__, main.__code__)),
            plugin=frozenset(f.__code__ for f in vars(Recorder).values() if hasattr(f, "__code__")),
            callers=caller.f_globals,
        )
        channel.install(result, armed.pop(), root, speakers, trusted, config["watch"], check)
        emit({"kind": "hello", "python": sys.version.split()[0], "pytest": pytest.__version__})
        sys.path[:0] = _roots(root, config["sources"])
        if measure is not None:
            measure.start()
            recorder.context = measure.context

    recorder.ready = ready  # type: ignore[method-assign]

    def finish(code: int) -> None:
        audit(channel.DONE, {"kind": "done", "exit": code, "tests": recorder.emitted})

    files = sorted({test.partition("::")[0] for test in config["tests"]})
    targets = [path for path in files if os.path.exists(os.path.join(root, path))]
    if not files:
        targets = [path for path in config["test_paths"] if os.path.exists(os.path.join(root, path))]
    stdout, stderr = sys.stdout, sys.stderr
    arguments = [*config["arguments"], "--rootdir", root, "-p", "no:cacheprovider", "--", *targets]
    if targets:
        code = int(pytest.main(arguments, plugins=[recorder]))
    else:
        from _pytest.config import get_config

        plugins = get_config().pluginmanager
        plugins.register(recorder)
        ready(plugins)
        code = 5
    if measure is not None:
        for record in measure.finish():
            emit(record)
    finish(code)
    for stream in (stdout, stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001 -- the stream may be anything by now
            code = code or 1
    os._exit(code)
