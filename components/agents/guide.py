"""What a turn may still become: guided decoding for models that we sample ourselves.

A call must be one that can be carried out: a known function to view, a line on view to replace, by another
text than itself that leaves the file Python, and not a line that has been tried often enough. A model without the
means to be guided (a server) is told so afterwards, by the tools; both see the same observations.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from components.agents.toolcall import Call, MalformedCall, parse, render

MOST_LINES = 3
"""Lines of the longest text to be replaced that is offered."""

_END = "\n</function>"


@dataclass(frozen=True)
class Ahead:
    """How a turn may go on: by one of these texts, after which it ends, or after which anything may follow."""

    closed: frozenset[str]
    open: frozenset[str]


@dataclass(frozen=True)
class Guide:
    """The turns that are allowed: whole ones, and beginnings after which anything may follow."""

    whole: frozenset[str]
    begins: frozenset[str]
    edits: Mapping[str, str]
    """Beginning of an edit, up to its new text, to the old text: which the new one must not be."""
    can: Callable[[Call], bool] = field(default=lambda call: True, compare=False)
    """Whether an edit can be carried out."""

    @cached_property
    def _starts(self) -> list[str]:
        return sorted({*self.whole, *self.begins, *self.edits})

    def allows(self, text: str) -> bool:
        """Whether some allowed turn begins with this text."""
        at = bisect_left(self._starts, text)
        if at < len(self._starts) and self._starts[at].startswith(text):
            return True
        if any(text.startswith(begin) for begin in self.begins):
            return True
        for begin, old in self.edits.items():
            if text.startswith(begin):
                new, closing, rest = text[len(begin) :].partition("</parameter>")
                if closing:
                    return new != old and _END.startswith(rest)
                return not new.startswith(f"{old}</")
        return False

    @cached_property
    def idle(self) -> Mapping[str, str]:
        """Beginning of an edit to the whole turn that would change nothing."""
        return {begin: f"{begin}{old}</parameter>{_END}" for begin, old in self.edits.items()}

    def settled(self, text: str) -> bool:
        """Whether every turn that begins so is an edit."""
        some = any(begin.startswith(text) for begin in self.edits)
        others = {*self.whole, *self.begins}
        return some and not any(one.startswith(text) or text.startswith(one) for one in others)

    def fits(self, text: str) -> bool:
        """Whether a whole turn is allowed, and an edit that can be carried out."""
        if not self.allows(text):
            return False
        try:
            call = parse(text)
        except MalformedCall:
            return False
        return call.name != "edit" or self.can(call)

    def ahead(self, text: str) -> Ahead | None:
        """What may follow; None where the turn is past its beginning, and nearly anything may."""
        for begin in self.edits:
            if text.startswith(begin):
                _, closing, rest = text[len(begin) :].partition("</parameter>")
                return Ahead(frozenset({_END.removeprefix(rest)}), frozenset()) if closing else None
        if any(text.startswith(begin) for begin in self.begins):
            return None
        closed: set[str] = set()
        begun: set[str] = set()
        for at in range(bisect_left(self._starts, text), len(self._starts)):
            start = self._starts[at]
            if not start.startswith(text):
                break
            (closed if start in self.whole else begun).add(start[len(text) :])
        return Ahead(frozenset(closed), frozenset(begun))


def views(functions: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The calls that view these functions (path, name)."""
    return frozenset(render(Call("view", {"path": path, "function": name})) for path, name in functions)


def tests(files: Iterable[str]) -> frozenset[str]:
    """The calls that run these files of tests."""
    return frozenset(render(Call("test", {"tests": path})) for path in files)


def edits(path: str, shown: Sequence[str], spent: Iterable[str], most: int = 1) -> dict[str, str]:
    """Beginnings of edits that replace a line on view, but not those tried often enough.

    Lines above come along where the line alone is not unique, or else those below: what the edit tool wants, and
    what demonstrations do. Where some lines are marked as executed by failing tests, only those are offered, and
    the first one (the head of a function, executed at import): what no failing test executes does not make it fail.

    Args:
        path: The file.
        shown: What a view answered: `9|source` lines, `...` where lines are left out.
        spent: First lines of texts that have been replaced often enough.
        most: Lines that an edit may be about.
    """
    closed = frozenset(spent)
    source = [source_of(row) for row in shown]
    marked = any(row[:1].isdigit() for row in shown)
    found: dict[str, str] = {}
    for start, line in enumerate(source):
        if line is None or not line.strip() or (marked and start and not shown[start][:1].isdigit()):
            continue
        for end in range(start + 1, min(start + most, len(source)) + 1):
            if (lines := _unique(source, start, end)) and lines[0] not in closed:
                old = "".join(f"{item}\n" for item in lines)
                head = render(Call("edit", {"path": path, "old": old}))
                found[f"{head.removesuffix('</function>')}<parameter=new>"] = old
    return found


def _unique(source: Sequence[str | None], start: int, end: int) -> list[str]:
    """These lines and as many of those above, or else below, as make them unique; none if that takes too many."""
    while True:
        lines = [line for line in source[start:end] if line is not None]
        if len(lines) < end - start or len(lines) > max(MOST_LINES, end - start):
            return []
        if _times(source, lines) == 1:
            return lines
        if start and source[start - 1] is not None:
            start -= 1
        elif end < len(source):
            end += 1
        else:
            return []


def _times(source: Sequence[str | None], lines: Sequence[str | None]) -> int:
    return sum(source[at : at + len(lines)] == lines for at in range(len(source) - len(lines) + 1))


def source_of(row: str) -> str | None:
    """The source line of a row that a view showed."""
    return row[2:] if row[1:2] in ("|", ">") else None
