"""From a patch to replacements of whole lines, each unique where it will be looked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from unidiff import PatchSet

from components.agents.source import function_at
from components.records.errors import InputError


@dataclass(frozen=True)
class Replacement:
    """Whole lines to be replaced by others."""

    path: str
    line: int
    """First line replaced, from 1."""
    old: str
    new: str

    @property
    def anchor(self) -> tuple[str, ...]:
        """The lines that must be known to make the replacement."""
        return tuple(self.old.removesuffix("\n").split("\n"))


def replacements(patch: str, files: Mapping[str, str]) -> list[Replacement]:
    """The edits that turn `files` into what the patch makes of them; edits of one function are one.

    Raises:
        InputError: the patch does something else than change lines of `files`.
    """
    out: list[Replacement] = []
    for changed in PatchSet(patch):
        text = files.get(changed.path)
        if text is None or changed.is_added_file or changed.is_removed_file:
            raise InputError(f"{changed.path}: the gold patch does not change a known file")
        lines = text.splitlines(keepends=True)
        out.extend(_unique(changed.path, lines, *block) for block in _merge(text, lines, _blocks(changed)))
    return out


Block = tuple[int, int, list[str]]
"""First line, number of lines, replacement."""


def _blocks(changed: object) -> list[Block]:
    blocks: list[Block] = []
    for hunk in changed:  # type: ignore[attr-defined]
        at, inside = hunk.source_start, False
        for line in hunk:
            if line.is_context:
                at, inside = at + 1, False
                continue
            if line.line_type == "\\":
                continue
            if not inside:
                blocks.append((at, 0, []))
                inside = True
            first, count, added = blocks[-1]
            if line.is_removed:
                blocks[-1] = (first, count + 1, added)
                at += 1
            else:
                added.append(line.value)
    return blocks


def _merge(text: str, lines: list[str], blocks: list[Block]) -> list[Block]:
    """Blocks of the same function become one: a half-made fix would be taken back."""
    merged: list[Block] = []
    for block in blocks:
        if merged:
            first, count, new = merged[-1]
            here, there = function_at(text, first), function_at(text, block[0])
            if here is not None and here == there and block[0] + block[1] - first <= 20:
                between = lines[first + count - 1 : block[0] - 1]
                merged[-1] = (first, block[0] + block[1] - first, [*new, *between, *block[2]])
                continue
        merged.append(block)
    return merged


def _unique(path: str, lines: list[str], first: int, count: int, new: list[str]) -> Replacement:
    """Widen a block until its lines occur once among the lines of its function."""
    text = "".join(lines)
    span = function_at(text, first if count else max(1, first - 1))
    start, end = (span.start, span.end) if span else (1, len(lines))
    low, high = first, first + count
    if not count:
        # An insertion needs a neighbour to hold on to, one that a view shows: not blank, no docstring.
        before = lines[first - 2] if first >= 2 else ""
        body = span.body if span else 1
        if (first - 1 >= body and before.strip()) or first > len(lines):
            low -= 1
        else:
            high += 1
    while low == high or _occurrences(lines[start - 1 : end], lines[low - 1 : high - 1]) > 1:
        # Backwards first: what is written next to the replaced line should follow what was read.
        if low > start:
            low -= 1
        elif high <= end and high <= len(lines):
            high += 1
        else:
            break
    kept = lines[low - 1 : first - 1], lines[first + count - 1 : high - 1]
    return Replacement(path, low, "".join(lines[low - 1 : high - 1]), "".join([*kept[0], *new, *kept[1]]))


def _occurrences(within: list[str], wanted: list[str]) -> int:
    return sum(within[at : at + len(wanted)] == wanted for at in range(len(within) - len(wanted) + 1))
