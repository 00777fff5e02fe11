"""Which nodes of a file may be changed, and in which function each of them lies.

Left out, since a change there is no bug that a test could show, or no bug at all: everything outside
functions, docstrings, annotations, decorators, `assert`, `if TYPE_CHECKING`, `if __name__ == "__main__"`,
overload stubs, and the inside of f-strings (Python 3.11 reports wrong positions there).
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_TEMPLATES: tuple[type[ast.AST], ...] = tuple(
    getattr(ast, name) for name in ("JoinedStr", "TemplateStr") if hasattr(ast, name)
)


@dataclass(frozen=True, eq=False, slots=True)
class Function:
    """A function or method. Two of one name in one file are two functions."""

    node: FunctionNode
    qualname: str
    outermost: "Function | None"
    """The function that holds this one and lies in none itself; None when this is it."""

    @property
    def block(self) -> FunctionNode:
        """The node to recompile when this function changes: a nested function needs its surroundings."""
        return (self.outermost or self).node

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that stand for one argument, in order."""
        spec = self.node.args
        return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]


@dataclass(frozen=True, eq=False, slots=True)
class Site:
    """A node that may be changed, with the way up from it."""

    node: ast.AST
    field: str
    """Name of the parent's field that holds the node, e.g. `test` or `body`."""
    parent: "Site | None"
    """None for an outermost function and for a class outside functions."""
    function: Function

    def ancestors(self) -> Iterator["Site"]:
        """The sites above this one, nearest first."""
        site = self.parent
        while site is not None:
            yield site
            site = site.parent

    def within(self, *kinds: type[ast.AST]) -> bool:
        """Whether a node of one of these types lies above, inside the same function."""
        for site in self.ancestors():
            if isinstance(site.node, kinds):
                return True
            if isinstance(site.node, FunctionNode):
                return False
        return False


_Todo = tuple[ast.AST, str, Site | None, Function | None, str]


def walk(tree: ast.Module) -> tuple[tuple[Function, ...], dict[type[ast.AST], list[Site]]]:
    """All functions in source order, and all sites by node type."""
    functions: list[Function] = []
    sites: dict[type[ast.AST], list[Site]] = defaultdict(list)
    # A stack of our own: a chain of a thousand `elif` would overflow Python's.
    todo: list[_Todo] = [(child, "body", None, None, "") for child in reversed(tree.body)]
    while todo:
        node, name, parent, function, prefix = todo.pop()
        if isinstance(node, FunctionNode):
            if _is_overload(node):
                continue
            qualname = prefix + node.name
            outermost = (function.outermost or function) if function else None
            function = Function(node, qualname, outermost)
            functions.append(function)
            prefix = qualname + "."
        elif isinstance(node, ast.ClassDef):
            prefix = prefix + node.name + "."
        site = None
        if function is not None:
            site = Site(node, name, parent, function)
            if not (isinstance(node, ast.If) and _is_guard(node.test)):
                sites[type(node)].append(site)
        children = [(child, field, site, function, prefix) for child, field in _children(node)]
        todo.extend(reversed(children))
    return tuple(functions), dict(sites)


def _children(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, FunctionNode | ast.ClassDef):
        # Not the defaults: they belong to the scope around. `change_default` reads them off the node.
        yield from ((child, "body") for child in node.body if not _is_text(child))
        return
    if isinstance(node, ast.If) and _is_guard(node.test):
        yield from ((child, "orelse") for child in node.orelse)
        return
    if isinstance(node, (ast.Assert, ast.Import, ast.ImportFrom, *_TEMPLATES)):
        return
    skipped = _SKIPPED_FIELDS.get(type(node), ())
    for name in node._fields:
        if name in skipped:
            continue
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield value, name
        elif isinstance(value, list):
            yield from ((item, name) for item in value if isinstance(item, ast.AST) and not _is_text(item))


_SKIPPED_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.AnnAssign: ("annotation",),
    ast.arg: ("annotation",),
    ast.match_case: ("pattern",),
    ast.Name: ("ctx",),
    ast.Attribute: ("ctx",),
    ast.Subscript: ("ctx",),
    ast.Starred: ("ctx",),
    ast.List: ("ctx",),
    ast.Tuple: ("ctx",),
    ast.BinOp: ("op",),
    ast.AugAssign: ("op",),
    ast.UnaryOp: ("op",),
    ast.BoolOp: ("op",),
    ast.Compare: ("ops",),
}


def _is_text(node: ast.AST) -> bool:
    """A string that stands alone: a docstring, or a comment by another name."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_overload(node: FunctionNode) -> bool:
    return any(_last_name(decorator) == "overload" for decorator in node.decorator_list)


def _is_guard(test: ast.expr) -> bool:
    if _last_name(test) == "TYPE_CHECKING":
        return True
    return isinstance(test, ast.Compare) and _last_name(test.left) == "__name__"


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
