"""Refuses a mutant that cannot be told from the original, before any test runs.

Only the outermost function around an edit is compiled, not the file: a change inside a function changes
that function's code and nothing else. Bytecode is compared without positions and with asserts and
docstrings stripped; equal trees compile to equal bytecode, so that this covers "same AST" too.
"""

import ast
import hashlib
import re
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import NamedTuple

from components.records.task import RejectReason
from components.synthesis.edit import Edit
from components.synthesis.scope import Function, FunctionNode
from components.synthesis.source import BOM, ParsedModule

COMMUTATIVE_CALLS = frozenset({"min", "max", "gcd", "lcm", "hypot"})
_COMMUTATIVE = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)
_SYMMETRIC = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
# Cheap first look: a swap only moves characters, up to these.
_LOOSE = dict.fromkeys(map(ord, " \t\r\n()<>"))
_MIRROR: dict[type[ast.cmpop], str] = {ast.Gt: "Lt", ast.GtE: "LtE"}


_INDENTED = re.compile(r"(?:.*\f)?[ \t]+\S")
_UNCOMPILABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


class Refusal(NamedTuple):
    """Why a mutant is not worth a test run."""

    reason: RejectReason
    detail: str


class EquivalenceFilter:
    """Judges the edits of one module, one after the other: the first of two equal mutants stays."""

    def __init__(self, module: ParsedModule) -> None:
        self._module = module
        self._blocks: dict[FunctionNode, _Block] = {}

    def refuse(self, edit: Edit) -> Refusal | None:
        """The reason against an edit, or None."""
        block, data = self._block(edit.function), self._module.data
        try:
            code = self._compile(data[block.start : edit.start], edit.replacement, data[edit.end : block.end])
        except _UNCOMPILABLE as error:
            return Refusal(RejectReason.SYNTAX, str(error))
        if code == block.code:
            return Refusal(RejectReason.EQUIVALENT, "same bytecode")
        if same_up_to_order(data[edit.start : edit.end].decode(), edit.replacement):
            return Refusal(RejectReason.EQUIVALENT, "only the order of a commutative operator changes")
        if code in block.seen:
            return Refusal(RejectReason.DUPLICATE, "same bytecode as another candidate")
        block.seen.add(code)
        return None

    def _block(self, function: Function) -> "_Block":
        node = function.block
        if node not in self._blocks:
            start, end = self._module.block(function)
            try:
                code = self._compile(self._module.data[start:end], "", b"")
            except _UNCOMPILABLE:  # a backslash before it, say: the whole file, then
                start, end = (
                    len(self._module.data) - len(self._module.data.removeprefix(BOM)),
                    len(self._module.data),
                )
                code = self._compile(self._module.data[start:end], "", b"")
            self._blocks[node] = _Block(start, end, code, set())
        return self._blocks[node]

    def _compile(self, before: bytes, replacement: str, after: bytes) -> Hashable:
        text = f"{before.decode()}{replacement}{after.decode()}"
        # A method keeps its indentation: dedenting would change its multi-line strings.
        if _INDENTED.match(text):
            text = "if 1:\n" + text
        return fingerprint(compile(text, self._module.path, "exec", dont_inherit=True, optimize=2))


class _Block(NamedTuple):
    """What is compiled to judge the edits of a function, and what came of it so far."""

    start: int
    end: int
    code: Hashable
    seen: set[Hashable]


@contextmanager
def quiet() -> Iterator[None]:
    """No SyntaxWarning for what mutants look like (`1 is x`)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def text_digest(module: ParsedModule, edit: Edit) -> bytes:
    """Equal for edits of one function block that give the same text."""
    start, end = module.block(edit.function)
    text = (module.data[start : edit.start], edit.replacement.encode(), module.data[edit.end : end])
    return hashlib.blake2b(b"%d:" % start + b"".join(text), digest_size=16).digest()


def fingerprint(code: CodeType) -> Hashable:
    """What a code object does, without where its source lies."""
    return (
        code.co_code,
        code.co_names,
        tuple(map(_constant, code.co_consts)),
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        code.co_exceptiontable,
    )


def _constant(value: object) -> Hashable:
    if isinstance(value, CodeType):
        return fingerprint(value)
    if isinstance(value, tuple):
        return tuple(map(_constant, value))
    if isinstance(value, frozenset):
        # Sorted: the order of a set of text differs from one process to the next.
        return ("frozenset", *sorted(repr(_constant(item)) for item in value))
    return (type(value).__name__, repr(value))  # 1, 1.0 and True are equal, and 0.0 is equal to -0.0


def same_up_to_order(old: str, new: str) -> bool:
    """Whether two expressions differ only in the order of operands that may change places."""
    if sorted(old.translate(_LOOSE)) != sorted(new.translate(_LOOSE)):
        return False
    try:
        return _normal(ast.parse(f"({old})", mode="eval").body) == _normal(
            ast.parse(f"({new})", mode="eval").body
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _normal(node: ast.AST) -> str:
    """A text that is the same for all orders of commutative operands."""
    if isinstance(node, ast.BinOp):
        sides = [_normal(node.left), _normal(node.right)]
        number = isinstance(node.op, ast.Add) and (_is_number(node.left) or _is_number(node.right))
        if isinstance(node.op, _COMMUTATIVE) or number:
            sides.sort()
        return f"{type(node.op).__name__}({', '.join(sides)})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        op, sides = node.ops[0], [_normal(node.left), _normal(node.comparators[0])]
        if isinstance(op, _SYMMETRIC):
            sides.sort()
        if type(op) in _MIRROR:
            return f"{_MIRROR[type(op)]}({', '.join(reversed(sides))})"
        return f"{type(op).__name__}({', '.join(sides)})"
    if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and not node.keywords:
        name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        arguments = [_normal(argument) for argument in node.args]
        if name in COMMUTATIVE_CALLS:
            arguments.sort()
        return f"{_normal(node.func)}({', '.join(arguments)})"
    parts = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            parts.append(f"{name}={_normal(value)}")
        elif isinstance(value, list):
            items = ", ".join(_normal(item) if isinstance(item, ast.AST) else repr(item) for item in value)
            parts.append(f"{name}=[{items}]")
        else:
            parts.append(f"{name}={value!r}")
    return f"{type(node).__name__}({', '.join(parts)})"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)
