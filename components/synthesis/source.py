"""One parse of one file: where every node lies in its bytes, and which nodes may be changed.

`ast` gives columns in UTF-8 bytes, so that spans are byte spans of the file and a splice cannot touch
anything else: no dedenting, no re-indenting, no unparsing.
"""

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from components.synthesis.edit import Edit
from components.synthesis.scope import Function, Site, walk

N = TypeVar("N", bound=ast.AST)
Located = ast.expr | ast.stmt | ast.excepthandler | ast.keyword

BOM = b"\xef\xbb\xbf"
# What the tokenizer ends a line at; `str.splitlines` knows six more, none of them Python's.
_NEWLINE = re.compile(rb"\r\n|\r|\n")
_COMMENT = re.compile(rb"#[^\r\n]*")
_BLANKS = re.compile(rb"[ \t]*")
_BLANK_TO_END = re.compile(rb"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n|\Z)")


class UnreadableSourceError(ValueError):
    """A file that is not UTF-8, or not Python."""


@dataclass(frozen=True)
class ParsedModule:
    """A file, its tree, and the sites inside functions by node type."""

    path: str
    data: bytes
    tree: ast.Module
    functions: tuple[Function, ...]
    _sites: dict[type[ast.AST], list[Site]] = field(repr=False)
    line_starts: tuple[int, ...] = field(repr=False)
    """Byte offset of each line, by `lineno - 1`."""

    @classmethod
    def parse(cls, path: str, data: bytes) -> "ParsedModule":
        """Parse a file.

        Raises:
            UnreadableSourceError: it is not UTF-8, or not Python.
        """
        body = data.removeprefix(BOM)
        try:
            if not body.isascii() and tokenize.detect_encoding(io.BytesIO(body).readline)[0] != "utf-8":
                raise UnreadableSourceError(f"{path}: declares another encoding than UTF-8")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(body.decode(), path)
        except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError, MemoryError) as error:
            raise UnreadableSourceError(f"{path}: {type(error).__name__}: {error}") from error
        base = len(data) - len(body)
        starts = (base, *(base + match.end() for match in _NEWLINE.finditer(body)))
        functions, sites = walk(tree)
        return cls(path, data, tree, functions, sites, starts)

    def sites(self, *kinds: type[N]) -> Iterator[tuple[Site, N]]:
        """Every node of these types that may be changed, with its site."""
        for kind in kinds:
            for site in self._sites.get(kind, ()):
                yield site, site.node  # type: ignore[misc]  # the index is keyed by exact type

    def start(self, node: Located) -> int:
        """Byte offset of the first byte of a node."""
        return self.line_starts[node.lineno - 1] + node.col_offset

    def end(self, node: Located) -> int:
        """Byte offset after the last byte of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.line_starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: Located) -> str:
        """The source of a node, without parentheses around it."""
        return self.data[self.start(node) : self.end(node)].decode()

    def edit(self, site: Site, start: int, end: int, replacement: str) -> Edit:
        """Replace a span, with a space wherever two words would run together (`return(x)`)."""
        if replacement:
            if _is_word(replacement[0]) and _is_word(self.data[start - 1 : start].decode(errors="replace")):
                replacement = " " + replacement
            if _is_word(replacement[-1]) and _is_word(self.data[end : end + 1].decode(errors="replace")):
                replacement += " "
        return Edit(start, end, replacement, site.function)

    def replace(self, site: Site, node: Located, replacement: str) -> Edit:
        """Replace the whole of a node."""
        return self.edit(site, self.start(node), self.end(node), replacement)

    def token(self, after: int, before: int, pattern: str) -> tuple[int, int] | None:
        """The span of an operator that lies between two operands; comments there do not count."""
        gap = _COMMENT.sub(lambda match: b" " * len(match[0]), self.data[after:before])
        match = _token_pattern(pattern).search(gap)
        return (after + match.start(), after + match.end()) if match else None

    def operator(self, site: Site, left: Located, right: Located, old: str, new: str) -> Iterator[Edit]:
        """Replace the operator between two operands."""
        span = self.token(self.end(left), self.start(right), old)
        if span is not None:
            yield self.edit(site, *span, new)

    def delete(self, site: Site, node: ast.stmt) -> Edit:
        """Take a statement out: its lines when they hold nothing else, else `pass` in its place."""
        start, end = self.start(node), self.end(node)
        lines = self._own_lines(start, end)
        block = getattr(site.parent.node, site.field, ()) if site.parent else ()
        if lines is None or len(block) == 1:
            return self.edit(site, start, end, "pass")
        return Edit(*lines, "", site.function)

    def cut(self, site: Site, start: int, end: int) -> Edit:
        """Take a span out: its lines when they hold nothing else, else with the blanks after it."""
        lines = self._own_lines(start, end)
        if lines is None:
            blanks = _BLANKS.match(self.data, end)
            lines = (start, blanks.end() if blanks else end)
        return Edit(*lines, "", site.function)

    def _own_lines(self, start: int, end: int) -> tuple[int, int] | None:
        """The whole lines of a span that nothing but blanks and a comment shares with it."""
        line = self.line_starts[bisect_right(self.line_starts, start) - 1]
        rest = _BLANK_TO_END.match(self.data, end)
        if self.data[line:start].strip(b" \t\f") or rest is None or rest.end() == len(self.data):
            return None
        return line, rest.end()

    def block(self, function: Function) -> tuple[int, int]:
        """The whole lines of the outermost function around a function, decorators included."""
        node = function.block
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        last = node.end_lineno or node.lineno
        starts = self.line_starts
        return starts[first - 1], starts[last] if last < len(starts) else len(self.data)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_" or char == "�"


@lru_cache(maxsize=256)
def _token_pattern(token: str) -> re.Pattern[bytes]:
    words = [re.escape(word) for word in token.split()]
    text = r"(?:\s|\\\s)+".join(words)
    return re.compile((rf"\b{text}\b" if token[0].isalpha() else text).encode())
