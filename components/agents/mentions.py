"""Where a problem statement points to: what there is to go by while no failing test is known.

The innermost frame of a traceback comes first, then the functions that the text names, as a person would look.
"""

import re
from collections.abc import Mapping

from components.agents.source import function_at, local_name, spans
from components.agents.spectrum import Localization
from components.agents.suspects import Suspect

_FRAME = re.compile(r"^\s*(?P<path>[^\s:]+\.py):(?P<line>\d+) in \S+$", re.MULTILINE)
_NAME = re.compile(r"`(?P<name>[A-Za-z_][\w.]*)`")


def mentioned(statement: str, sources: Mapping[str, str]) -> Localization:
    """The functions that a statement points to, most telling first; each scores half, a third, ... of the first.

    Args:
        statement: Text with frames (`path:line in function`, innermost last) and names in backticks.
        sources: Text of each file that may hold the bug.
    """
    frames = [(match["path"], int(match["line"])) for match in _FRAME.finditer(statement)]
    places = [
        (path, span.name)
        for path, line in reversed(frames)
        if path in sources and (span := function_at(sources[path], line)) is not None
    ]
    for match in _NAME.finditer(statement):
        places += _defined(match["name"], sources)
    ranked = list(dict.fromkeys(places))
    if not ranked:
        return Localization(note="the failing tests are not known, and the statement names no function")
    suspects = tuple(Suspect(*place, score=1 / rank) for rank, place in enumerate(ranked, start=1))
    traced = {path: frozenset(line for other, line in frames if other == path) for path, _ in ranked}
    return Localization(suspects=suspects, frames=traced)


def _defined(name: str, sources: Mapping[str, str]) -> list[tuple[str, str]]:
    """(path, function) of what is called so, with or without its module before it."""
    return [
        (path, span.name)
        for path, text in sources.items()
        for span in spans(text)
        if not span.is_class and span.name == local_name(name, path)
    ]
