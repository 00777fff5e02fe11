"""A git-style unified diff of one edit, computed from the edit instead of by comparing two files."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

CONTEXT = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"
_ESCAPES = {ord("\t"): b"\\t", ord("\n"): b"\\n", ord("\r"): b"\\r", ord('"'): b'\\"', ord("\\"): b"\\\\"}


@dataclass(frozen=True, slots=True)
class Hunk:
    """Whole lines replaced by whole lines, from line index `first` on (from 0)."""

    first: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Lines changed."""
        return max(len(self.old), len(self.new))


class Lines:
    """A file as git sees it: only a line feed ends a line."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.lines = _split(data)
        self.starts = [0, *accumulate(map(len, self.lines))][: max(1, len(self.lines))]

    def hunk(self, start: int, end: int, replacement: bytes) -> Hunk:
        """The lines that change when a span of the file is replaced; no unchanged line at either end."""
        first = bisect_right(self.starts, start) - 1
        last = max(first, bisect_right(self.starts, end - 1) - 1)
        while True:
            stop = self.starts[last + 1] if last + 1 < len(self.starts) else len(self.data)
            block = self.data[self.starts[first] : start] + replacement + self.data[end:stop]
            if not block or block.endswith(b"\n") or stop == len(self.data):
                break
            last += 1  # the newline went with the span: the next line is drawn in
        old, new = self.lines[first : last + 1], _split(block)
        head = 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        return Hunk(first + head, tuple(old[head : len(old) - tail]), tuple(new[head : len(new) - tail]))

    def patch(self, path: str, hunk: Hunk) -> str:
        """Unified diff of a hunk, as `git diff` prints it."""
        begin = max(0, hunk.first - CONTEXT)
        stop = hunk.first + len(hunk.old)
        before, after = self.lines[begin : hunk.first], self.lines[stop : stop + CONTEXT]
        around = len(before) + len(after)
        old, new = around + len(hunk.old), around + len(hunk.new)
        body = [
            *(b" " + _terminated(line) for line in before),
            *(b"-" + _terminated(line) for line in hunk.old),
            *(b"+" + _terminated(line) for line in hunk.new),
            *(b" " + _terminated(line) for line in after),
        ]
        head = f"@@ -{_range(begin, old)} +{_range(begin, new)} @@\n".encode()
        a, b = _quoted(f"a/{path}"), _quoted(f"b/{path}")
        # git ends a name that holds a blank with a tab, so that no reader takes the rest for a time.
        tab = b"\t" if " " in path else b""
        header = [b"diff --git ", a, b" ", b, b"\n--- ", a, tab, b"\n+++ ", b, tab, b"\n"]
        return b"".join([*header, head, *body]).decode()


def _split(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _terminated(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + _NO_NEWLINE


def _range(begin: int, count: int) -> str:
    start = begin + 1 if count else begin
    return str(start) if count == 1 else f"{start},{count}"


def _quoted(path: str) -> bytes:
    raw = path.encode()
    if all(32 <= byte < 127 and byte not in _ESCAPES for byte in raw):
        return raw
    parts: Sequence[bytes] = [
        _ESCAPES.get(byte, bytes([byte]) if 32 <= byte < 127 else b"\\%03o" % byte) for byte in raw
    ]
    return b'"' + b"".join(parts) + b'"'
