"""`search`: where to look. With a query, names and lines that match; without one, fault localisation.

Failing tests are what it goes by, or else the problem statement.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from components.agents.mentions import mentioned
from components.agents.source import function_at, local_name, spans
from components.agents.tools.base import Outcome, Parameter, ToolContext
from components.agents.tools.view import ViewTool


class SearchTool:
    """Ranks functions by the failing tests or the statement and shows the first, or finds text.

    Asked again while nothing has changed, a localisation gives up the function that was shown last.
    """

    name = "search"
    description = (
        "Without query: functions ranked by suspicion (0-9), and the source of the first; again: of the next. "
        "With query: matching definitions and lines."
    )
    parameters = (Parameter("query", "Name or text to look for.", required=False),)

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Search."""
        query = arguments.get("query", "").strip()
        return _find(query, context) if query else _localize(context)


def _localize(context: ToolContext) -> Outcome:
    if context.failing:
        localization, cached = context.checks.localize()
    else:
        localization, cached = mentioned(context.statement, dict(_sources(context))), False
    if localization != context.localization:
        context.localization = localization
        context.tried.clear()
    elif context.alternative():
        context.give_up()
    if not localization.suspects:
        # No error of the call: the next one should be another, not this again.
        return Outcome(f"{localization.note or 'no function is suspicious'}; give a query", cached=cached)
    return replace(localized(context), cached=cached)


def localized(context: ToolContext) -> Outcome:
    """The most suspicious functions that have not been given up, and what a view of the first one shows."""
    rows = context.suspects()[: context.scaffold.suspects_listed]
    if not rows:
        return Outcome("every suspicious function was tried; give a query")
    listed = "\n".join(f"{row.path}::{row.function} {int(row.score * 9 + 0.5)}" for row in rows)
    shown = ViewTool().run({"path": rows[0].path, "function": rows[0].function}, context)
    return Outcome(listed if shown.error else f"{listed}\n{shown.content}", shows=shown.shows)


def _find(query: str, context: ToolContext) -> Outcome:
    hits: list[tuple[int, str, int, str]] = []
    for path, text in _sources(context):
        hits.extend((rank, path, line, name) for rank, line, name in _matches(local_name(query, path), text))
    if not hits:
        return Outcome.failure("not_found", f"nothing matches {query}")
    hits.sort(key=lambda hit: hit[:3])
    rows = hits[: context.scaffold.search_hits]
    context.found |= {path for _, path, _, _ in rows}
    return Outcome("\n".join(f"{path}:{line} {name}".rstrip() for _, path, line, name in rows))


def _sources(context: ToolContext) -> Iterator[tuple[str, str]]:
    for path in context.checks.source_files():
        if (text := context.text(path)) is not None:
            yield path, text


def _matches(query: str, text: str) -> Iterator[tuple[int, int, str]]:
    """(rank, line, function): definitions of that name, definitions that hold it, then lines."""
    if query not in text and query.rpartition(".")[2] not in text:
        return
    defined: set[int] = set()
    for span in spans(text):
        last = span.name.rpartition(".")[2]
        if query in (span.name, last):
            defined.add(span.start)
            yield 0, span.start, span.name
        elif query in last:
            defined.add(span.start)
            yield 1, span.start, span.name
    for number, line in enumerate(text.split("\n"), start=1):
        if query in line and number not in defined:
            inside = function_at(text, number)
            yield 2, number, inside.name if inside else ""
