"""What a turn may still become: guided decoding for models that we sample ourselves.

A call must be one that can be carried out: a known function to view, a line on view to replace, by another
text than itself, and not a line that has been tried often enough. A model without the means to be guided
(a server) is told so afterwards, by the tools; both see the same observations.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from components.agents.models.base import Guidance
from components.agents.toolcall import Call, render

MOST_LINES = 3
"""Lines of the longest text to be replaced that is offered."""

_END = "\n</function>"
_ANCHOR = 4
"""Characters that new and old text must have in common for the old to be followed further."""


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

    def draft(self, text: str) -> str:
        """The rest of the text that is being replaced: most of it stays as it is."""
        begin = next((begin for begin in self.edits if text.startswith(begin)), None)
        if begin is None:
            return ""
        old, new = self.edits[begin], text[len(begin) :]
        if old.startswith(new):
            return old[len(new) :]
        tail = new[-_ANCHOR:]
        at = old.find(tail) if len(tail) == _ANCHOR else -1
        return old[at + _ANCHOR :] if at >= 0 else ""

    def without(self, text: str) -> "Guide | None":
        """The guide without edits of the line that this edit was about to replace by itself."""
        begin = next((begin for begin in self.edits if text.startswith(begin)), None)
        if begin is None or not self.edits[begin].startswith(text[len(begin) :]):
            return None
        line_end = begin.index("\n", begin.index("<parameter=old>")) + 1
        left = {key: old for key, old in self.edits.items() if not key.startswith(begin[:line_end])}
        return Guide(self.whole, self.begins, left) if left or self.whole else None

    def closed_to(self, other: "Guidance") -> frozenset[str]:
        """Edits that this guide allows and the other does not."""
        return frozenset(begin for begin in self.edits if not other.allows(begin))

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


def edits(path: str, shown: Sequence[str], spent: Iterable[str]) -> dict[str, str]:
    """Beginnings of edits that replace one or a few lines on view, but not those tried often enough.

    Where some lines are marked as executed by failing tests, only those are offered, and the first one (the
    head of a function, executed at import): what no failing test executes does not make it fail.

    Args:
        path: The file.
        shown: What a view answered: `9|source` lines, `...` where lines are left out.
        spent: First lines of texts that have been replaced often enough.
    """
    closed = frozenset(spent)
    source = [source_of(row) for row in shown]
    marked = any(row[:1].isdigit() for row in shown)
    found: dict[str, str] = {}
    for start, line in enumerate(source):
        if line is None or not line.strip() or line in closed:
            continue
        if marked and start and not shown[start][:1].isdigit():
            continue
        for end in range(start + 1, min(start + MOST_LINES, len(source)) + 1):
            lines = source[start:end]
            if None in lines:
                break
            if _times(source, lines) == 1:  # the edit tool wants one place
                old = "".join(f"{item}\n" for item in lines)
                head = render(Call("edit", {"path": path, "old": old}))
                found[f"{head.removesuffix('</function>')}<parameter=new>"] = old
    return found


def _times(source: Sequence[str | None], lines: Sequence[str | None]) -> int:
    return sum(source[at : at + len(lines)] == lines for at in range(len(source) - len(lines) + 1))


def source_of(row: str) -> str | None:
    """The source line of a row that a view showed."""
    return row[2:] if row[1:2] in ("|", ">") else None
