"""What a failing test shows: the exception, where it came from, which functions the test called."""

import ast
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from components.validation.source import FunctionSpan, SourceFile, parsed

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_SCRATCH = re.compile(r"/tmp/[^\s'\"]*")
_DUNDERS: tuple[tuple[type[ast.AST], tuple[str, ...]], ...] = (
    (ast.Subscript, ("__getitem__", "__setitem__", "__delitem__")),
    (ast.For, ("__iter__",)),
    (ast.With, ("__enter__", "__exit__")),
)
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Eq: "__eq__", ast.NotEq: "__ne__", ast.Lt: "__lt__", ast.LtE: "__le__", ast.Gt: "__gt__",
    ast.GtE: "__ge__", ast.In: "__contains__", ast.NotIn: "__contains__", ast.Add: "__add__",
    ast.Sub: "__sub__", ast.Mult: "__mul__", ast.Div: "__truediv__", ast.FloorDiv: "__floordiv__",
    ast.Mod: "__mod__", ast.Pow: "__pow__", ast.BitOr: "__or__", ast.BitAnd: "__and__", ast.BitXor: "__xor__",
    ast.LShift: "__lshift__", ast.RShift: "__rshift__", ast.USub: "__neg__", ast.Invert: "__invert__",
}  # fmt: skip
_BUILTINS = {
    **{name: f"__{name}__" for name in ("len", "iter", "next", "repr", "str", "bool", "reversed", "hash")},
    "list": "__iter__",
}

_OPERATOR, _CONSTRUCTOR = 2, 3
"""Lines by which a call through an operator, or one that makes an object, counts as farther away."""


@dataclass(frozen=True)
class Frame:
    """One place in the code."""

    path: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} in {self.function}"


@dataclass(frozen=True)
class Evidence:
    """What is known of a failure without looking at the bug."""

    tests: tuple[str, ...]
    """Failing tests; the first is the one that the rest describes."""
    exception: str
    message: str
    """One line, bounded; empty when runs disagree about it."""
    frames: tuple[Frame, ...] = ()
    """Source frames of the traceback, outermost first."""
    test_frame: Frame | None = None
    called: tuple[Frame, ...] = ()
    """Functions that the test calls directly, nearest to the failing line first."""
    suspects: tuple[Frame, ...] = ()
    """Functions that the failing tests run and few others do."""

    def functions(self, limit: int) -> tuple[Frame, ...]:
        """Suspects and called functions in turn, each once."""
        pairs = zip_longest(self.suspects, self.called)
        return tuple(dict.fromkeys(frame for pair in pairs for frame in pair if frame))[:limit]


def clean_message(text: str, limit: int) -> str:
    """The first line of an exception's message, without what differs from run to run."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = _SCRATCH.sub("<tmp>", _ADDRESS.sub("0x...", lines[0] if lines else "")).replace("/repo/", "")
    return line if len(line) <= limit else line[: max(0, limit - 3)].rstrip() + "..."


def source_frames(
    frames: Iterable[tuple[str, int, str]], sources: Mapping[str, SourceFile], limit: int
) -> tuple[Frame, ...]:
    """The innermost frames that lie in the code to be changed, each place once."""
    seen: dict[tuple[str, str], Frame] = {}
    for path, line, function in frames:
        path = posixpath.normpath(path).removeprefix("/repo/")
        if path in sources:
            name = sources[path].qualname(line, function)
            seen.pop((path, name), None)  # of a recursion the innermost frame stays
            seen[path, name] = Frame(path, line, name)
    return tuple(seen.values())[-limit:]


def called_functions(
    test_source: str,
    test: str,
    line: int | None,
    sources: Mapping[str, SourceFile],
    covered: Mapping[str, Collection[int]],
    limit: int,
) -> tuple[Frame, ...]:
    """Functions that a test names in its own body and whose own body it executes.

    Nearest to the failing line first. It knows nothing of the bug: any reader of the test could tell.
    """
    node = _find_test(parsed(test_source), test)
    if node is None:
        return ()
    by_name = _executed(sources, covered)
    here = node.lineno if line is None else line
    last = max((_end(child) for child in ast.walk(node) if getattr(child, "lineno", 0) == here), default=here)
    found: dict[Frame, int] = {}
    for name, at, explicit in _names_called(node):
        if at > last:
            continue  # not reached
        for frame in by_name.get(name, ()):
            setup = frame.function.endswith((".__init__", ".__new__"))
            rank = abs(here - at) + (_CONSTRUCTOR if setup else 0 if explicit else _OPERATOR)
            found[frame] = min(found.get(frame, rank), rank)
    ranked = sorted(found, key=lambda frame: (found[frame], frame.path, frame.line))
    return tuple(ranked[:limit])


def _end(node: ast.AST) -> int:
    """Last line of what runs when a traceback names the first line of a node."""
    compound = isinstance(
        node, (ast.For, ast.AsyncFor, ast.While, ast.If, ast.Try, ast.FunctionDef, ast.ClassDef)
    )
    return int(getattr(node, "lineno" if compound else "end_lineno", 0) or 0)


def _find_test(tree: ast.Module, test: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    wanted = [part.partition("[")[0] for part in test.split("::")[1:]]
    body: Sequence[ast.stmt] = tree.body
    for index, name in enumerate(wanted):
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                if index == len(wanted) - 1 and not isinstance(node, ast.ClassDef):
                    return node
                body = node.body
                break
        else:
            return None
    return None


def _executed(
    sources: Mapping[str, SourceFile], covered: Mapping[str, Collection[int]]
) -> dict[str, list[Frame]]:
    out: dict[str, list[Frame]] = {}
    for path in sorted(covered):
        source = sources.get(path)
        if source is None:
            continue
        lines = set(covered[path])
        for function in source.functions:
            if any(number in lines for number in range(function.body, function.end + 1)):
                for name in _aliases(function):
                    out.setdefault(name, []).append(Frame(path, function.definition, function.qualname))
    return out


def _aliases(function: FunctionSpan) -> tuple[str, ...]:
    owner = function.qualname.rpartition(".")[0].rpartition(".")[2]
    return (function.name, owner) if function.name in ("__init__", "__new__") and owner else (function.name,)


def _names_called(node: ast.AST) -> Iterable[tuple[str, int, bool]]:
    """Names with the line each stands on, and whether it is called by name or by an operator."""
    for child in ast.walk(node):
        line = getattr(child, "lineno", 0)
        if isinstance(child, ast.Call):
            func = child.func
            name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
            if name:
                yield name, line, True
                if name in _BUILTINS:
                    yield _BUILTINS[name], line, False
        elif isinstance(child, ast.Attribute):
            yield child.attr, line, False  # perhaps a property
        for kind, names in _DUNDERS:
            if isinstance(child, kind):
                for name in names:
                    yield name, line, False
        if isinstance(child, ast.Compare):
            for operator in child.ops:
                yield _OPERATORS.get(type(operator), ""), line, False
        elif isinstance(child, (ast.BinOp, ast.UnaryOp, ast.AugAssign)):
            yield _OPERATORS.get(type(child.op), ""), line, False
