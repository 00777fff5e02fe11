"""Is the test framework still what it was before any code of the repository ran?"""

import builtins
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGES = ("pytest", "_pytest", "pluggy", "unittest")
# Cheap enough to look at after every test; the rest is looked at once, at the end.
_VITAL = frozenset(
    {"_pytest._code.code", "_pytest.main", "_pytest.outcomes", "_pytest.python", "_pytest.reports"}
    | {"_pytest.runner", "_pytest.skipping", "_pytest.unittest", "unittest.case"}
    | {"pluggy._callers", "pluggy._hooks", "pluggy._manager", "pluggy._result"}
)
_WATCHED_HOOKS = ("pytest_runtest", "pytest_pyfunc", "pytest_collection_modifyitems", "pytest_report")

_Entry = tuple[Any, str, Any, "FunctionType | None", "CodeType | None"]


def snapshot(
    plugins: Any, recorder: object, root: str, trusted: "tuple[str, ...]"
) -> Callable[[bool], "list[str]"]:
    """A function that compares the framework with what it is now.

    Args:
        plugins: pytest's plugin manager.
        recorder: Our plugin, which has to stay registered.
        root: The repository, whose code may not be part of the framework,
        trusted: except files with these prefixes, and conftest.py.

    Returns:
        `check(quick)`: what has changed.
    """
    vital: list[_Entry] = []
    rest: list[_Entry] = [
        (vars(builtins), f"builtins.{n}", v, None, None) for n, v in vars(builtins).items() if n != "_"
    ]
    for name in sorted(sys.modules):
        module = sys.modules[name]
        if name.partition(".")[0] in _PACKAGES and isinstance(module, ModuleType):
            (vital if name in _VITAL else rest).extend(_entries(module))
    missing = object()
    prefix = root + "/"

    def foreign() -> Iterator[str]:
        if not plugins.is_registered(recorder):
            yield "the recording plugin was unregistered"
        for name, caller in list(vars(plugins.hook).items()):
            if name.startswith(_WATCHED_HOOKS):
                for implementation in caller.get_hookimpls():
                    code = getattr(_function(implementation.function), "__code__", None)
                    path = "" if code is None else code.co_filename
                    if path.startswith(prefix) and not (
                        path.startswith(trusted) or path.endswith("/conftest.py")
                    ):
                        yield f"{path[len(prefix) :]} hooked into {name}"

    def check(quick: bool) -> "list[str]":
        changed = list(foreign())
        for space, label, value, function, code in vital if quick else (*vital, *rest):
            now = space.get(label.rpartition(".")[2], missing)
            if now is not value or (function is not None and function.__code__ is not code):
                changed.append(f"{label} was replaced")
        return changed[:10]

    return check


def _function(value: object) -> "FunctionType | None":
    for attribute in ("__func__", "fget"):
        value = getattr(value, attribute, None) or value
    return value if isinstance(value, FunctionType) else None


def _entries(module: ModuleType) -> Iterator[_Entry]:
    for name, value in list(vars(module).items()):
        label = f"{module.__name__}.{name}"
        function = _function(value) if isinstance(value, FunctionType) else None
        if function is not None:
            yield vars(module), label, value, function, function.__code__
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield vars(module), label, value, None, None
            for attribute, member in list(vars(value).items()):
                function = _function(member)
                if function is not None:
                    yield vars(value), f"{label}.{attribute}", member, function, function.__code__
