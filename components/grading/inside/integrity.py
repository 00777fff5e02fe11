"""Is the test framework still what it was before any code of the repository ran?"""

import builtins
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGES = ("pytest", "_pytest", "pluggy", "unittest")
# Cheap enough to look at after every test; the rest is looked at once, at the end.
_VITAL = frozenset(
    {"_pytest.outcomes", "_pytest.python", "_pytest.reports"}
    | {"_pytest.runner", "_pytest.skipping", "_pytest.unittest", "unittest.case"}
)
_WATCHED_HOOKS = ("pytest_runtest", "pytest_pyfunc", "pytest_collection_modifyitems", "pytest_report")

_Entry = tuple[Any, str, str, Any, "FunctionType | None", "CodeType | None"]
"""(namespace, name in it, label, value, function behind the value, its code)."""


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
    space = vars(builtins)
    vital: list[_Entry] = []
    rest: list[_Entry] = [(space, n, f"builtins.{n}", v, None, None) for n, v in space.items() if n != "_"]
    for name in sorted(sys.modules):
        module = sys.modules[name]
        if name.partition(".")[0] in _PACKAGES and isinstance(module, ModuleType):
            (vital if name in _VITAL or name.startswith("pluggy") else rest).extend(_entries(module))
    # Two flat lists each, because this runs after every test.
    quickly, slowly = _flat(vital), _flat([*vital, *rest])
    missing = object()
    prefix = root + "/"

    honest: dict[str, list[Any]] = {}

    def foreign() -> Iterator[str]:
        if not plugins.is_registered(recorder):
            yield "the recording plugin was unregistered"
        for name, caller in list(vars(plugins.hook).items()):
            if not name.startswith(_WATCHED_HOOKS):
                continue
            functions = [implementation.function for implementation in caller.get_hookimpls()]
            if functions == honest.get(name):
                continue
            paths = [getattr(getattr(_function(f), "__code__", None), "co_filename", "") for f in functions]
            intruders = [
                path[len(prefix) :]
                for path in paths
                if path.startswith(prefix) and not (path.startswith(trusted) or path.endswith("/conftest.py"))
            ]
            if not intruders:
                honest[name] = functions
            yield from (f"{path} hooked into {name}" for path in intruders)

    def check(quick: bool) -> "list[str]":
        values, codes = quickly if quick else slowly
        changed = [label for space, key, value, label in values if space.get(key, missing) is not value]
        changed += [label for function, code, label in codes if function.__code__ is not code]
        return [*foreign(), *(f"{label} was replaced" for label in changed)][:10]

    return check


def _flat(entries: "list[_Entry]") -> "tuple[list[Any], list[Any]]":
    values = [(space, key, value, label) for space, key, label, value, _, _ in entries]
    return values, [(function, code, label) for _, _, label, _, function, code in entries if function]


def _function(value: object) -> "FunctionType | None":
    for attribute in ("__func__", "fget"):
        value = getattr(value, attribute, None) or value
    return value if isinstance(value, FunctionType) else None


def _entries(module: ModuleType) -> Iterator[_Entry]:
    for name, value in list(vars(module).items()):
        label = f"{module.__name__}.{name}"
        function = _function(value) if isinstance(value, FunctionType) else None
        if function is not None:
            yield vars(module), name, label, value, function, function.__code__
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield vars(module), name, label, value, None, None
            for attribute, member in list(vars(value).items()):
                function = _function(member)
                if function is not None:
                    yield vars(value), attribute, f"{label}.{attribute}", member, function, function.__code__
