"""`OracleModel`: the demonstrator. Knows the gold patch and walks to it through the real tools.

localise -> read -> edit -> test -> submit, each decided from what the conversation shows so far. A localisation
that shows another function is asked for the next one; where the function is not among the first ones, the
demonstration is to search for its name, and to look there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from components.agents.models.base import ModelReply, ModelRequest
from components.agents.models.config import OracleConfig
from components.agents.models.hunks import Replacement, replacements
from components.agents.source import function_at
from components.agents.toolcall import Call, MalformedCall, parse, render
from components.records.errors import InputError
from components.records.task import Task
from components.records.training import Message

LOOKS = 4
"""Functions of a localisation that are looked at before the name is searched for."""
BuggySource = Callable[[Task], Mapping[str, bytes]]
"""The files of a task that the bug changed, as they are in the buggy tree."""


@dataclass(frozen=True)
class _Turn:
    call: Call
    seen: str


class OracleModel:
    """Answers each turn from the gold patch and the conversation; keeps no state of its own."""

    name = "oracle"
    demonstrator = True
    max_batch = 1
    parallel = 2
    lockstep = False

    def __init__(self, tasks: Sequence[Task], buggy: BuggySource, config: OracleConfig | None = None) -> None:
        self._tasks = {task.id: task for task in tasks}
        self._buggy = buggy
        self._config = config or OracleConfig()

    def begin(self) -> None:
        """Nothing is kept."""

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """The next turn of each rollout."""
        return [ModelReply(render(self._next(request))) for request in requests]

    def _next(self, request: ModelRequest) -> Call:
        task = self._tasks.get(request.task_id)
        if task is None:
            raise InputError(f"{request.task_id}: the oracle does not know this task")
        turns = _turns(request.messages)
        files = {path: data.decode("utf-8", "surrogateescape") for path, data in self._buggy(task).items()}
        todo = replacements(task.gold_patch, files)
        edited = [turn for turn in turns if turn.call.name == "edit" and not turn.seen.startswith("error:")]
        if len(edited) >= len(todo):
            tested = any(turn.call.name == "test" for turn in turns)
            if self._config.test_before_submit and request.tests_visible and not tested:
                return Call("test")
            return Call("submit")
        return self._towards(todo[len(edited)], files, turns, request)

    def _towards(
        self, goal: Replacement, files: Mapping[str, str], turns: Sequence[_Turn], request: ModelRequest
    ) -> Call:
        """Find the place, look at it, change it."""
        function = function_at(files[goal.path], goal.line)
        name = function.name if function else ""
        place = f"{goal.path}::{name}"
        shown = [turn.seen for turn in turns if turn.call.name == "view" or _localised(turn.seen) == place]
        if any(_shows(seen, goal.anchor) for seen in shown):
            return Call("edit", {"path": goal.path, "old": goal.old, "new": goal.new})
        viewed = {(turn.call.arguments.get("path"), turn.call.arguments.get("function")) for turn in turns}
        searched = [turn for turn in turns if turn.call.name == "search"]
        if not searched:
            return Call("search")
        on_view = _localised(searched[-1].seen)
        if name and on_view != place and (goal.path, name) not in viewed:
            if any("query" in turn.call.arguments for turn in searched):
                return Call("view", {"path": goal.path, "function": name})
            if on_view and request.turns < LOOKS:
                return Call("search")
            return Call("search", {"query": _query(goal, name, request)})
        first = max(1, goal.line - 15)
        return Call("view", {"path": goal.path, "lines": f"{first}-{first + 30}"})


def _query(goal: Replacement, name: str, request: ModelRequest) -> str:
    """What to look for: the function as the problem statement calls it, if it does; else its name."""
    statement = next((message.content for message in request.messages if message.role == "user"), "")
    module = goal.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    dotted = f"{module}.{name}"
    return dotted if dotted in statement else name


def _localised(seen: str) -> str:
    """The function (`path::name`) whose source a localisation shows, the first of its list; else empty."""
    place, _, _ = seen.partition("\n")[0].rpartition(" ")
    return place if "::" in place else ""


def _shows(seen: str, anchor: Sequence[str]) -> bool:
    """Whether every line to be replaced is on view: a demonstration must not know more than it has seen."""
    shown = {line[2:] for line in seen.split("\n") if line[1:2] in ("|", ">")}
    return all(line in shown for line in anchor)


def _turns(messages: Sequence[Message]) -> list[_Turn]:
    out: list[_Turn] = []
    for index, message in enumerate(messages):
        if message.role != "assistant":
            continue
        try:
            call = parse(message.content)
        except MalformedCall:
            continue
        following = messages[index + 1] if index + 1 < len(messages) else None
        out.append(_Turn(call, following.content if following is not None else ""))
    return out
