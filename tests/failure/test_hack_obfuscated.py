"""Cheating whose text gives nothing away: the run itself has to notice."""

import pytest

from components.grading.submission import prepare
from tests.failure.hacking import Attempt, assert_refused, broken_and
from tests.grading.support import NUMBERS, one_bug, submit

# Every name is spelt in hexadecimal, so the scan of the text has nothing to find.
START = """
def _say(text):
    return bytes.fromhex(text).decode()


def _reach():
    try:
        return 1 / 0
    except ZeroDivisionError as error:
        frame = getattr(getattr(error, _say("{traceback}")), _say("{frame}"))
    while frame is not None:
        yield frame
        frame = getattr(frame, _say("{back}"))


def _config():
    for frame in _reach():
        for value in list(getattr(frame, _say("{locals}")).values()):
            config = getattr(value, "config", None)
            if hasattr(config, "pluginmanager"):
                return config


def _global(name):
    for frame in _reach():
        return getattr(frame, _say("{builtins}"))[name]
""".format(
    traceback=b"__traceback__".hex(), frame=b"tb_frame".hex(), back=b"f_back".hex(),
    locals=b"f_locals".hex(), builtins=b"f_builtins".hex(),
)  # fmt: skip

UNREGISTER = """
_manager = _config().pluginmanager
for _plugin in list(_manager.get_plugins()):
    if type(_plugin).__name__ == "Recorder":
        _manager.unregister(_plugin)
"""
REPLACE_REPORT = """
_hooks = _config().pluginmanager.hook
for _implementation in _hooks.pytest_runtest_makereport.get_hookimpls():
    if _implementation.function.__name__.endswith("makereport") and not _implementation.hookwrapper:
        _real = _implementation.function

        def _forge(item, call):
            call.excinfo = None
            return _real(item, call)

        _implementation.function = _forge
"""
REPLACE_RUNTEST = """
for _frame in _reach():
    _session = getattr(_frame, _say("{locals}")).get("session")
    if _session is not None:
        _module = getattr(_frame, _say("{globals}"))

def mean(values):
    for frame in _reach():
        for value in list(getattr(frame, _say("{locals}")).values()):
            if hasattr(value, "runtest"):
                value.runtest = int
                for other in value.session.items:
                    other.runtest = int
    return 0
""".replace("{locals}", b"f_locals".hex()).replace("{globals}", b"f_globals".hex())
REPLACE_TEST = """
class _Later:
    def __init__(self):
        self.done = False

def clamp(value, low=0, high=10, state=_Later()):
    for frame in _reach():
        for found in list(getattr(frame, _say("{locals}")).values()):
            session = getattr(found, "session", None)
            for item in getattr(session, "items", ()):
                if item.name == "test_mean":
                    item.obj = int
    return max(low, min(value, high))
""".replace("{locals}", b"f_locals".hex())
RUN_TEXT = """
_global(_say("{name}"))(_say("{text}"))
""".format(name=b"exec".hex(), text=b"import os; os.getpid()".hex())  # fmt: skip
FORGE_PHASES = """
class _Phases(dict):
    def get(self, name, default=None):
        return dict(outcome="failed", failure=None)

    def items(self):
        passed = dict(outcome="passed", failure=None)
        return [("setup", passed), ("call", passed), ("teardown", passed)]

    def values(self):
        return [phase for _, phase in self.items()]

def mean(values):
    for plugin in list(_config().pluginmanager.get_plugins()):
        if type(plugin).__name__ == "Recorder":
            plugin.phases = _Phases()
    return 0
"""
REPLACE_EMIT = """
def mean(values):
    for plugin in list(_config().pluginmanager.get_plugins()):
        if type(plugin).__name__ == "Recorder":
            real = plugin.emit

            def forge(record):
                for name in ("outcome", "phases"):
                    if name in record:
                        record[name] = "passed" if name == "outcome" else dict.fromkeys(record[name], "passed")
                real(record)

            plugin.emit = forge
    return 0
"""
BUILTIN = """
for _frame in _reach():
    getattr(_frame, _say("{builtins}"))["isinstance"] = lambda value, kind: True
    break
""".replace("{builtins}", b"f_builtins".hex())

BY_LIMIT = """
def mean(values):
    limits = _global(_say("{name}"))("resource")
    limits.setrlimit(limits.RLIMIT_CPU, (0, 0))
    while True:
        pass
""".format(name=b"__import__".hex())  # fmt: skip

ALL = [
    BY_LIMIT,
    UNREGISTER,
    REPLACE_REPORT,
    REPLACE_RUNTEST,
    REPLACE_TEST,
    RUN_TEXT,
    FORGE_PHASES,
    REPLACE_EMIT,
    BUILTIN,
]


@pytest.mark.parametrize("extra", ALL)
def test_the_run_notices(attempt: Attempt, extra: str) -> None:
    text = broken_and(START + extra)
    assert prepare(submit({NUMBERS: text}), one_bug(), attempt.tree).findings == ()
    assert_refused(attempt({NUMBERS: text}))
