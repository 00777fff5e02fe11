"""`view`: the source of one function, with the suspiciousness of each line."""

from collections.abc import Mapping, Sequence

from components.agents.source import Span, named, spans
from components.agents.tools.base import Outcome, Parameter, ToolContext, normal_path

_GAP = "..."
_RADIUS = 2
"""Lines shown on either side of a suspicious one."""


class ViewTool:
    """Shows a function or a range of lines.

    Each line is `<digit>|<source>`: 0 to 9 from the last localisation, `.` where no failing test went; `>`
    instead of `|` on lines of a failing test's traceback.
    Docstrings are cut to their first line, and long functions to the lines around the suspicious ones.
    """

    name = "view"
    description = "Show a function, or lines, of a file. 9 marks the most suspicious lines, > a traceback's."
    parameters = (
        Parameter("path", "File, relative to the repository."),
        Parameter("function", "Qualified name, e.g. `Queue.get`.", required=False),
        Parameter("lines", "Range, e.g. `10-40`.", required=False),
    )

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Show the source."""
        path = normal_path(arguments["path"])
        text = context.text(path) if path is not None else None
        if path is None or text is None:
            return Outcome.failure("missing_file", f"no such file: {arguments['path'].strip()}")
        function = arguments.get("function", "").strip()
        if function:
            return self._function(path, text, function, context)
        return self._lines(path, text, arguments.get("lines", "").strip(), context)

    def _function(self, path: str, text: str, function: str, context: ToolContext) -> Outcome:
        found = named(text, function)
        if not found:
            return Outcome.failure("not_found", f"no function {function} in {path}")
        if (path, found[0].name) in context.tried:
            return Outcome.failure("tried", f"{path}::{found[0].name} was tried; choose another")
        scores = _scores(path, context)
        shown: list[str] = []
        for span in found:
            numbers = _choose(_compact(span, text), span, scores, context.scaffold.view_lines)
            shown.extend(_render(text, numbers, scores, _frames(path, context)))
        context.last_function = (path, found[0].name)
        context.viewed[path] = (found[0].start, found[-1].end)
        return Outcome("\n".join(shown), shows=path)

    def _lines(self, path: str, text: str, wanted: str, context: ToolContext) -> Outcome:
        last = text.count("\n") + (not text.endswith("\n"))
        first, _, end = (wanted or f"1-{context.scaffold.view_lines}").partition("-")
        try:
            begin, stop = int(first), int(end or first)
        except ValueError:
            return Outcome.failure("bad_range", f"lines must be like 10-40, not {wanted}")
        begin, stop = max(1, begin), min(last, stop, max(1, begin) + context.scaffold.view_lines - 1)
        if begin > stop:
            return Outcome.failure("bad_range", f"{path} has {last} lines")
        context.last_function = None
        context.viewed[path] = (begin, stop)
        numbers = list(range(begin, stop + 1))
        rows = _render(text, numbers, _scores(path, context), _frames(path, context))
        return Outcome("\n".join(rows), shows=path)


def _frames(path: str, context: ToolContext) -> frozenset[int]:
    return context.localization.frames.get(path, frozenset()) if context.localization else frozenset()


def _scores(path: str, context: ToolContext) -> Mapping[int, float]:
    return context.localization.lines.get(path, {}) if context.localization else {}


def _compact(span: Span, text: str) -> list[int]:
    """The lines of a function without those of docstrings after their first."""
    inside = [item for item in spans(text) if span.start <= item.start and item.end <= span.end]
    hidden = {
        line
        for item in inside
        if item.docstring is not None
        for line in range(item.docstring[0] + 1, item.docstring[1] + 1)
    }
    return [line for line in range(span.start, span.end + 1) if line not in hidden]


def _choose(lines: Sequence[int], span: Span, scores: Mapping[int, float], budget: int) -> list[int]:
    """At most `budget` lines: the head of the function, and those nearest to the suspicious ones."""
    hot = sorted((line for line in lines if scores.get(line, 0) > 0), key=lambda line: (-scores[line], line))
    if len(lines) <= budget or not hot:
        return list(lines[:budget])
    position = {line: index for index, line in enumerate(lines)}
    keep = {line for line in lines if line < span.body and line < span.start + 6}
    for line in hot:
        window = set(lines[max(0, position[line] - _RADIUS) : position[line] + _RADIUS + 1])
        if len(keep | window) > budget:
            break
        keep |= window
    return sorted(keep)


def _render(
    text: str, numbers: Sequence[int], scores: Mapping[int, float], frames: frozenset[int] = frozenset()
) -> list[str]:
    source = text.split("\n")
    out: list[str] = []
    for index, number in enumerate(numbers):
        if index and number != numbers[index - 1] + 1:
            out.append(_GAP)
        mark = str(min(9, int(scores[number] * 9 + 0.5))) if number in scores else "."
        out.append(f"{mark}{'>' if number in frames else '|'}{source[number - 1]}")
    return out
