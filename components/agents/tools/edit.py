"""`edit`: replace one exact, unique piece of text."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from components.agents.tools.base import Outcome, Parameter, ToolContext, normal_path
from components.grading.protect import PROTECTED, is_protected


class EditTool:
    """Replaces `old` by `new` in a file. What is not exact and unique is refused, and so is broken Python."""

    name = "edit"
    description = "Replace text of a file. `old` must occur exactly once; whole lines are best."
    parameters = (
        Parameter("path", "File, relative to the repository."),
        Parameter("old", "Text to replace, exactly as in the file, indentation included."),
        Parameter("new", "Text to put in its place."),
    )

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Apply the edit. The outcome can undo it."""
        change = plan(arguments, context)
        return change if isinstance(change, Outcome) else _write(change, context)


@dataclass(frozen=True)
class Change:
    """What an edit would make of a file."""

    path: str
    before: str
    after: str


def plan(arguments: Mapping[str, str], context: ToolContext) -> Change | Outcome:
    """What an edit would do, or why it cannot be carried out."""
    path = normal_path(arguments["path"])
    if path is None:
        return Outcome.failure("missing_file", f"no such file: {arguments['path'].strip()}")
    if is_protected(path, context.task.protected_paths or PROTECTED):
        return Outcome.failure("protected", f"{path} is protected")
    before = context.text(path)
    if before is None:
        return Outcome.failure("missing_file", f"no such file: {path}")
    old, new = arguments["old"], arguments["new"]
    if not old:
        return Outcome.failure("not_found", "old is empty")
    if old == new:
        return Outcome.failure("no_change", "old and new are the same")
    places = _places(before, old)
    if not places:
        return Outcome.failure("not_found", f"old not found in {path}")
    if len(places) > 1:
        places = _narrow(before, old, places, context.viewed.get(path)) or places
    if len(places) > 1:
        lines = ", ".join(str(before.count("\n", 0, place) + 1) for place in places[:5])
        return Outcome.failure("ambiguous", f"old occurs {len(places)} times, at lines {lines}")
    after = before[: places[0]] + new + before[places[0] + len(old) :]
    if path.endswith(".py") and (problem := _syntax(after, path)) and not _syntax(before, path):
        return Outcome.failure("syntax", problem)
    return Change(path, before, after)


def _places(text: str, old: str) -> list[int]:
    found, position = [], text.find(old)
    while position >= 0:
        found.append(position)
        position = text.find(old, position + 1)
    return found


def _narrow(text: str, old: str, places: list[int], viewed: tuple[int, int] | None) -> list[int]:
    """Of several matches the one meant: at the start of a line, and within the lines looked at last."""
    if old.endswith("\n") or "\n" in old:
        whole = [place for place in places if place == 0 or text[place - 1] == "\n"]
        places = whole or places
    if len(places) > 1 and viewed is not None:
        first, last = viewed
        return [place for place in places if first <= text.count("\n", 0, place) + 1 <= last]
    return places


def _syntax(text: str, path: str) -> str:
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        kind = type(error).__name__
        return f"{kind}: {getattr(error, 'msg', error)}" + (f" (line {line})" if line else "")
    return ""


def _write(change: Change, context: ToolContext) -> Outcome:
    path, before, after = change.path, change.before, change.after
    revision = context.checks.revision

    def store(text: str) -> None:
        context.session.write(path, text.encode("utf-8", errors="surrogateescape"))

    def undo() -> None:
        store(before)
        context.checks.changed(revision)

    store(after)
    known = None if revision is None else hashlib.sha256(f"{revision}\0{path}\0{after}".encode()).hexdigest()
    context.checks.changed(known)
    return Outcome("ok", undo=undo)
