"""Spectrum-based fault localisation (Abreu, Zoeteweij, van Gemund 2007).

A line is suspicious when failing tests execute it and passing tests do not.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from components.agents.suspects import Suspect, rank

Formula = Literal["ochiai", "op2"]
Executed = Mapping[str, frozenset[int]]
"""Path to lines."""


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
    tracebacks: Sequence[Sequence[tuple[str, int]]] = (),
) -> Localization:
    """Score the lines of `sources`, and rank their functions (`suspects`).

    Args:
        failing: Failing test to the lines it executed.
        passing: The same for passing tests.
        sources: Text of each file that may hold the bug.
        formula: Of the scores that are returned.
        tracebacks: Of the failing tests: each (path, line), outermost first.
    """
    counts = {path: (_count(failing, path), _count(passing, path)) for path in sources}

    def by(formula: Formula) -> dict[str, dict[int, float]]:
        """Each line that failing tests executed, relative to the worst of all."""
        found = {
            path: {
                line: score(formula, count, passed.get(line, 0), len(failing), len(passing))
                for line, count in sorted(failed.items())
            }
            for path, (failed, passed) in counts.items()
            if failed
        }
        top = max(value for scored in found.values() for value in scored.values())
        return {path: {line: value / top for line, value in scored.items()} for path, scored in found.items()}

    if not any(failed for failed, _ in counts.values()):
        return Localization(failing=tuple(failing), note="failing tests executed no line of the source")
    lines = {name: by(name) for name in ("op2", "ochiai")}
    frames = {place for places in tracebacks for place in places}
    raised = {places[-1] for places in tracebacks if places}
    suspects = rank(lines["op2"], lines["ochiai"], sources, failing, frames, raised)
    traced = {path: frozenset(line for other, line in frames if other == path) for path in lines[formula]}
    return Localization(lines[formula], suspects, traced, tuple(failing))


def _count(tests: Mapping[str, Executed], path: str) -> dict[int, int]:
    counts: dict[int, int] = {}
    for executed in tests.values():
        for line in executed.get(path, ()):
            counts[line] = counts.get(line, 0) + 1
    return counts
