"""Which function is to blame: those that failing tests executed, ranked by a weighted sum of the evidence.

A failing test executes dozens of functions, and many of them have a line that is as suspicious as can be. What else
tells them apart is weighed as learning to rank does it for fault localisation (FLUCCS: Sohn and Yoo 2017), here by a
conditional logit.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from components.agents.source import function_at

Lines = Mapping[str, Mapping[int, float]]
"""Path to line to suspiciousness, 0 to 1 where 1 is the most suspicious line of all."""


@dataclass(frozen=True)
class Suspect:
    """A function, and how suspicious it is (0 to 1)."""

    path: str
    function: str
    score: float

    @property
    def place(self) -> tuple[str, str]:
        """(path, function)."""
        return self.path, self.function


class Evidence(NamedTuple):
    """What speaks against a function, or the weights of that."""

    worst: float
    """Op2 of its worst line."""
    most: float
    """1: no line of any function is more suspicious by Op2."""
    average: float
    """Ochiai of its executed lines."""
    size: float
    """Natural logarithm of how many those are."""
    traceback: float
    """1: some of them are on the traceback of a failing test."""
    raised: float
    """1: a failing test's exception was raised in it."""
    named: float
    """Share of the words of its name that are in the name of a failing test."""
    explains: float
    """1: pytest calls it to explain a failed assertion: executed because of the failure, not before it."""


WEIGHTS = Evidence(
    worst=1.6, most=2.1, average=1.9, size=0.4, traceback=0.6, raised=0.95, named=0.8, explains=-0.6
)
"""Fitted to 520 training bugs of boltons, toolz, funcy and pydash (29 rewriters, one line each). In cross-validation
the bug was in the first function for 81 % of them; of 124 bugs in held-out functions for 81 %, in the first three for
94 %. docs/adr/0009-ranked-suspects.md says what it was before."""


def rank(
    op2: Lines,
    ochiai: Lines,
    sources: Mapping[str, str],
    tests: Iterable[str],
    frames: Collection[tuple[str, int]],
    raised: Collection[tuple[str, int]],
) -> tuple[Suspect, ...]:
    """Functions, the one most to blame first, each with its worst line's score by Op2.

    Args:
        op2: Executed lines by Op2.
        ochiai: The same lines by Ochiai.
        sources: Text of each file.
        tests: Node ids of those that fail.
        frames: Each (path, line) on the traceback of a failing test.
        raised: Where their exceptions were raised.
    """
    grouped: dict[tuple[str, str, int], list[int]] = {}
    raising: set[tuple[str, str, int]] = set()
    for path, scored in op2.items():
        for line in scored:
            span = function_at(sources[path], line)
            if span is not None and line >= span.body:  # the `def` line runs at import
                grouped.setdefault((path, span.name, span.start), []).append(line)
    for path, line in raised:
        if path in sources and (span := function_at(sources[path], line)) is not None:
            raising.add((path, span.name, span.start))
    worst = {place: max(op2[place[0]][line] for line in lines) for place, lines in grouped.items()}
    words = {word for test in tests for word in _words(test.partition("::")[2])}

    def blame(place: tuple[str, str, int]) -> float:
        path, name, _ = place
        lines = grouped[place]
        own = _words(name.rpartition(".")[2])
        evidence = Evidence(
            worst=worst[place],
            most=worst[place] == 1.0,
            average=sum(ochiai[path][line] for line in lines) / len(lines),
            size=math.log(len(lines)),
            traceback=any((path, line) in frames for line in lines),
            raised=place in raising,
            named=sum(word in words for word in own) / max(1, len(own)),
            explains=name.rpartition(".")[2] in ("__repr__", "__str__"),
        )
        return sum(weight * value for weight, value in zip(WEIGHTS, evidence, strict=True))

    seen: dict[tuple[str, str], Suspect] = {}
    for place in sorted(grouped, key=lambda place: (-blame(place), place[0], place[2])):
        seen.setdefault(place[:2], Suspect(*place[:2], worst[place]))
    return tuple(seen.values())


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", name.lower().replace("_", " "))
