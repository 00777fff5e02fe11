"""Unified diffs as git writes them, byte for byte what `git apply` needs."""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from components.sandbox.base import Diff

CONTEXT = 3
_BINARY_PROBE = 8000  # git looks for a NUL in this many bytes
_MAX_LINES = 20_000  # above this the matcher is too slow; one hunk replaces all


class Content(NamedTuple):
    """A regular file at one point in time."""

    data: bytes
    executable: bool = False


class Change(NamedTuple):
    """One path before and after; `None` when it is not there."""

    path: str
    old: Content | None
    new: Content | None


def render(changes: Sequence[Change], refused: Mapping[str, str] | None = None) -> Diff:
    """One diff of many files, sorted by path.

    Args:
        changes: What to show; changes that change no byte are left out.
        refused: Paths that the caller already knows cannot be shown, with the reason.
    """
    reasons = dict(refused or {})
    parts: list[str] = []
    for change in sorted(changes, key=lambda c: c.path):
        if (change.old and change.old.data) == (change.new and change.new.data):
            continue
        reason = _unfit(change)
        if reason:
            reasons[change.path] = reason
        else:
            parts.append(_file(change))
    notes = sorted(f"{os.fsencode(path).decode('utf-8', 'replace')}: {why}" for path, why in reasons.items())
    return Diff("".join(parts), tuple(notes))


def _unfit(change: Change) -> str:
    try:
        change.path.encode("utf-8")
    except UnicodeEncodeError:
        return "its name is not UTF-8; left out of the diff"
    for content in (change.old, change.new):
        if content is None:
            continue
        if b"\0" in content.data[:_BINARY_PROBE]:
            return "binary; left out of the diff"
        try:
            content.data.decode("utf-8")
        except UnicodeDecodeError:
            return "not UTF-8; left out of the diff"
    return ""


def _file(change: Change) -> str:
    old, new = change.old, change.new
    a, b = _quote("a/" + change.path), _quote("b/" + change.path)
    head = [f"diff --git {a} {b}\n"]
    if old is None and new is not None:
        head.append(f"new file mode {_mode(new)}\n")
    elif new is None and old is not None:
        head.append(f"deleted file mode {_mode(old)}\n")
    before, after = _lines(old), _lines(new)
    body = list(_hunks(before, after))
    if body:
        head.append(f"--- {'/dev/null' if old is None else _name(a)}\n")
        head.append(f"+++ {'/dev/null' if new is None else _name(b)}\n")
    return "".join(head + body)


def _mode(content: Content) -> str:
    return "100755" if content.executable else "100644"


def _name(quoted: str) -> str:
    # git ends a name that has a space with a tab, so that patch(1) does not read on into a date.
    return quoted + "\t" if " " in quoted and not quoted.startswith('"') else quoted


def _quote(path: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if all(char.isprintable() and char not in escapes and char.isascii() for char in path):
        return path
    out = []
    for char in path:
        if char in escapes:
            out.append(escapes[char])
        elif char.isascii() and char.isprintable():
            out.append(char)
        else:
            out.extend(f"\\{byte:03o}" for byte in char.encode())
    return '"' + "".join(out) + '"'


def _lines(content: Content | None) -> list[str]:
    # Only \n ends a line: str.splitlines would also cut at \r, form feeds and Unicode separators.
    if content is None or not content.data:
        return []
    lines = [line + "\n" for line in content.data.decode("utf-8").split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _hunks(before: list[str], after: list[str]) -> Iterator[str]:
    for group in _groups(before, after):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from _marked(" ", before[i1:i2])
                continue
            yield from _marked("-", before[i1:i2])
            yield from _marked("+", after[j1:j2])


def _groups(before: list[str], after: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    # Cut the common head and tail before matching: edits are small and the matcher is quadratic.
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    a, b = before[head : len(before) - tail], after[head : len(after) - tail]
    if not a and not b:
        return
    codes: list[tuple[str, int, int, int, int]] = []
    if head:
        codes.append(("equal", 0, head, 0, head))
    if len(a) + len(b) > _MAX_LINES:
        codes.append(("replace", head, head + len(a), head, head + len(b)))
    else:
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
            codes.append((tag, i1 + head, i2 + head, j1 + head, j2 + head))
    if tail:
        codes.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    yield from _group(codes)


def _group(codes: list[tuple[str, int, int, int, int]]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    group: list[tuple[str, int, int, int, int]] = []
    for index, (tag, i1, i2, j1, j2) in enumerate(codes):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        is_first, is_last = index == 0, index == len(codes) - 1
        if is_first:
            i1, j1 = max(i1, i2 - CONTEXT), max(j1, j2 - CONTEXT)
        elif is_last:
            i2, j2 = min(i2, i1 + CONTEXT), min(j2, j1 + CONTEXT)
        elif i2 - i1 > 2 * CONTEXT:
            group.append((tag, i1, i1 + CONTEXT, j1, j1 + CONTEXT))
            yield group
            group = []
            i1, j1 = i2 - CONTEXT, j2 - CONTEXT
        group.append((tag, i1, i2, j1, j2))
    if group:
        yield group


def _span(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
