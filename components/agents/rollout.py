"""One rollout as a state machine: ask for a turn, take the answer, until done.

Taking back. A turn whose edit failed can be taken back (`ScaffoldConfig.on_failed_edit`): the repository is
restored, the step stays on record with `rewound=True`, and the next turn is sampled from the same context
as before, at another temperature. After too many failed edits the function on view is given up: a view of it is
taken back too, and the localisation before them answers again with the next one, as a further observation of
the same call. A localisation that the model asks for again takes the place of the one before.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pydantic import JsonValue

from components.agents import guide
from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.guide import Guide
from components.agents.models.base import ModelReply, ModelRequest
from components.agents.prompt import system_prompt
from components.agents.scaffold import tool_schemas
from components.agents.toolcall import Call, MalformedCall, parse, render
from components.agents.tools import TOOLS, Outcome, ToolContext
from components.agents.tools.base import normal_path
from components.agents.tools.edit import Change, plan
from components.agents.tools.search import localized
from components.agents.transcript import path
from components.records.base import canonical_json
from components.records.repository import Recipe
from components.records.task import Task
from components.records.training import Message
from components.records.trajectory import ExitStatus, Observation, Step, ToolCall, Usage


@dataclass(frozen=True)
class Job:
    """One attempt at one task."""

    task: Task
    recipe: Recipe
    attempt: int = 0
    tests_visible: bool = True

    @property
    def key(self) -> str:
        """Names the job: same job, same key."""
        return f"{self.task.id}#{'' if self.tests_visible else 'hidden.'}{self.attempt}"


class Rollout:
    """The conversation of one job. `request` and `take` alternate until `status` is set."""

    def __init__(self, job: Job, context: ToolContext, scaffold: ScaffoldConfig, limits: AgentLimits) -> None:
        self.job, self.context, self.scaffold, self.limits = job, context, scaffold, limits
        self.status: ExitStatus | None = None
        self.usage = Usage()
        self.steps: list[Step] = [
            Step(index=0, source="system", message=system_prompt(scaffold)),
            Step(index=1, source="user", message=context.statement),
        ]
        self._tools = tool_schemas(scaffold)
        self._samples: dict[str, list[tuple[int, ...]]] = {}
        self._failed_edits: set[tuple[str, str, str]] = set()
        self._edits_since_view = 0
        self._line_edits: Counter[tuple[str, str]] = Counter()
        self._exhausted: set[str] = set()
        """Contexts in which the model knew no further edit."""
        self._malformed = 0
        self._shows: dict[int, str] = {}
        """Steps whose last answer shows source, and of which file."""

    def messages(self) -> tuple[Message, ...]:
        """What the next turn sees."""
        return path(self.steps)

    def request(self) -> ModelRequest:
        """The next turn to sample."""
        messages = self.messages()
        key = _digest(messages)
        earlier = self._samples.get(key, [])
        # What has been made must be known for the next one to be another.
        ranked = self.scaffold.edits == "ranked" and self.scaffold.unique_retries
        seed = hashlib.sha256(f"{self.job.key}\0{key}\0{len(earlier)}".encode()).digest()
        return ModelRequest(
            task_id=self.job.task.id,
            messages=messages,
            temperature=self.scaffold.retry_temperature if earlier else self.scaffold.temperature,
            max_tokens=self.limits.max_turn_tokens,
            stop=("</function>",),
            begin="<function=",
            begin_tokens=self.limits.max_thought_tokens,
            seed=int.from_bytes(seed[:4], "big"),
            avoid=tuple(ids for ids in earlier if ids) if self.scaffold.unique_retries else (),
            guide=self._guide() if self.scaffold.guided else None,
            ranked=ranked and not self.scaffold.temperature,
            elsewhere=key not in self._exhausted and self.context.alternative(),
            tools=self._tools,
            tests_visible=self.job.tests_visible,
            turns=len(self.steps) - 2,
            conversation=self.job.key,
        )

    def _guide(self) -> Guide:
        """The calls that make sense now. Free text (queries, commands) stays free."""
        offered = self.scaffold.tools
        stand = self._stand()
        names = {step.tool_calls[0].name for step in stand}
        whole: set[str] = set()
        begins: set[str] = set()
        taken_back = takewhile(lambda step: step.rewound, reversed(self.steps))
        refused = any(step.tool_calls[0].name == "test" for step in taken_back)  # and would be again
        if "bash" in offered:
            begins.add("<function=bash>\n<parameter=command>")
        if "test" in offered and not refused:
            if self.context.failing:
                begins.add("<function=test>\n")
            else:
                whole |= guide.tests(self.context.checks.test_files())
        if "submit" in offered and names & {"edit", "bash"}:
            whole.add(render(Call("submit")))
        if "edit" in names and self.scaffold.test_after_edit and self.scaffold.on_failed_edit == "rewind":
            # What stands has passed the tests that are known: there is nothing to go by for another edit.
            return Guide(frozenset(whole), frozenset(begins), {}, self._can)
        if "search" in offered:
            begins.add("<function=search>\n<parameter=query>")
            if self.context.localization is None:
                whole.add(render(Call("search")))
        shown = [step for step in stand if step.index in self._shows]
        if "view" in offered:
            if known := self.context.known_functions():
                whole |= guide.views(known) - {step.message for step in shown}
            elif not shown:
                begins.add("<function=view>\n<parameter=path>")
        edits: dict[str, str] = {}
        for step in shown if "edit" in offered else []:
            path = self._shows[step.index]
            spent = [
                line
                for (other, line), count in self._line_edits.items()
                if other == path and count >= self.scaffold.edits_per_line
            ]
            rows = step.observations[-1].content.split("\n")
            edits |= guide.edits(path, rows, spent, self.scaffold.edit_lines)
        return Guide(frozenset(whole), frozenset(begins), edits, self._can)

    def _can(self, call: Call) -> bool:
        return isinstance(plan(call.arguments, self.context), Change)

    def take(self, reply: ModelReply) -> None:
        """Carry out a sampled turn and record it, taken back or not."""
        started = time.monotonic()
        key = _digest(self.messages())
        if reply.finish == "exhausted" and key not in self._exhausted:  # once, for a turn must follow
            self._exhausted.add(key)
            self._spend(reply, 0)
            self._look_elsewhere()
            return
        self._samples.setdefault(key, []).append(reply.token_ids)
        call, outcome, fixed = self._act(reply)
        failed_edit = call is not None and call.name == "edit" and not fixed
        policy = self.scaffold.on_failed_edit if failed_edit else self.scaffold.on_failed_call
        rewound = (failed_edit or bool(outcome.error)) and policy == "rewind"
        if rewound and outcome.undo is not None:
            outcome.undo()
        self._append(reply, call, outcome, rewound)
        self._spend(reply, time.monotonic() - started)
        if failed_edit and rewound and call is not None:
            self._failed_edits.add(_edit_key(call))
            self._line_edits[_edit_line(call)] += 1
            self._edits_since_view += 1
            if self._edits_since_view >= self._edits_of_view():
                self._look_elsewhere()
        elif outcome.shows:
            self._edits_since_view = 0
            self._shows[self.steps[-1].index] = outcome.shows
            if _localises(self.steps[-1]):
                self._search_again()
        self.status = self._ended(reply, outcome)

    def _act(self, reply: ModelReply) -> tuple[Call | None, Outcome, bool]:
        """The parsed call, what came of it, and whether it may stand."""
        try:
            call = self._parse(reply)
        except MalformedCall as error:
            self._malformed += 1
            cut = " (cut off: too long)" if reply.finish == "length" else ""
            return None, Outcome.failure("malformed", f"{error}{cut}"), False
        self._malformed = 0
        if call.name != "edit":
            return call, TOOLS[call.name].run(call.arguments, self.context), True
        if _edit_key(call) in self._failed_edits:
            return call, Outcome.failure("repeated", "this edit was tried before"), False
        outcome = TOOLS["edit"].run(call.arguments, self.context)
        if outcome.error or not (self.scaffold.test_after_edit and self.context.failing):
            return call, outcome, not outcome.error
        report = self.context.checks.run(self.context.failing)
        content = "ok, tests pass" if report.passed else f"tests fail: {report.exception or report.summary}"
        return call, Outcome(content, undo=outcome.undo, cached=report.cached), report.passed

    def _parse(self, reply: ModelReply) -> Call:
        if reply.calls:
            if len(reply.calls) > 1:
                raise MalformedCall("more than one call")
            call = Call(reply.calls[0].name, reply.calls[0].arguments, reply.text)
        else:
            call = parse(reply.text)
        if call.name not in self.scaffold.tools:
            raise MalformedCall(f"no tool {call.name}; there are {', '.join(self.scaffold.tools)}")
        known = {item.name: item.required for item in TOOLS[call.name].parameters}
        if unknown := [key for key in call.arguments if key not in known]:
            raise MalformedCall(f"{call.name} has no parameter {unknown[0]}")
        if missing := [key for key, required in known.items() if required and key not in call.arguments]:
            raise MalformedCall(f"{call.name} needs parameter {missing[0]}")
        return call

    def _append(self, reply: ModelReply, call: Call | None, outcome: Outcome, rewound: bool) -> None:
        index = len(self.steps)
        arguments: JsonValue = dict(call.arguments) if call is not None else {}
        made = ToolCall(
            id=f"call_{index}", name=call.name if call else "", arguments=arguments, error=outcome.error
        )
        seen = Observation(call_id=made.id, content=outcome.content, cached=outcome.cached)
        self.steps.append(
            Step(
                index=index,
                source="agent",
                message=reply.text,
                tool_calls=(made,),
                observations=() if outcome.done else (seen,),
                rewound=rewound,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens + reply.compared_tokens,
                completion_token_ids=reply.token_ids,
                logprobs=reply.logprobs,
                seconds=reply.seconds,
            )
        )

    def _spend(self, reply: ModelReply, seconds: float) -> None:
        self.usage = Usage(
            prompt_tokens=self.usage.prompt_tokens + reply.prompt_tokens,
            completion_tokens=self.usage.completion_tokens + reply.completion_tokens + reply.compared_tokens,
            seconds=self.usage.seconds + reply.seconds + seconds,
            dollars=self.usage.dollars + reply.dollars,
        )

    def _look_elsewhere(self) -> None:
        """Give up the function that was shown last, so that another can be chosen, if there is one."""
        if not self.context.alternative():
            return
        self._edits_since_view = 0
        stand = self._stand()
        last = _last(stand, lambda step: step.index in self._shows)
        if last is None or not self._take_back(stand[last + _localises(stand[last]) :]):
            return
        self.context.give_up()
        searched = _last(stand[: last + 1], _localises)
        if searched is not None:
            step, outcome = stand[searched], localized(self.context)
            fresh = Observation(call_id=step.tool_calls[0].id, content=outcome.content)
            self.steps[step.index] = step.model_copy(update={"observations": (*step.observations, fresh)})
            self._shows.pop(step.index, None)
            if outcome.shows:
                self._shows[step.index] = outcome.shows

    def _edits_of_view(self) -> int:
        """How many failed edits the function on view is given."""
        most = self.scaffold.edits_per_view
        return most[min(len(self.context.tried), len(most) - 1)]

    def _search_again(self) -> None:
        """A localisation takes the place of the one before."""
        *before, _ = self._stand()
        earlier = _last(before, _localises)
        if earlier is not None:
            self._take_back(before[earlier:])

    def _take_back(self, turns: Sequence[Step]) -> bool:
        """Take back turns, unless one may have changed the repository: that is not undone with the conversation."""
        if any(step.tool_calls[0].name in ("edit", "bash") for step in turns):
            return False
        for step in turns:
            self.steps[step.index] = step.model_copy(update={"rewound": True})
        return True

    def _stand(self) -> list[Step]:
        """The model's turns that were not taken back."""
        return [step for step in self.steps if step.source == "agent" and not step.rewound]

    def _ended(self, reply: ModelReply, outcome: Outcome) -> ExitStatus | None:
        limits, turns = self.limits, len(self.steps) - 2
        if outcome.done:
            return ExitStatus.SUBMITTED
        if self._malformed >= limits.max_malformed:
            return ExitStatus.MALFORMED
        if self._repeats() >= limits.max_repeats:
            return ExitStatus.LOOPED
        if (
            self.usage.prompt_tokens + self.usage.completion_tokens >= limits.max_tokens
            or reply.prompt_tokens + reply.completion_tokens >= limits.max_context_tokens
        ):
            return ExitStatus.TOKEN_LIMIT
        if self.usage.seconds >= limits.wall_seconds:
            return ExitStatus.TIME_LIMIT
        return ExitStatus.TURN_LIMIT if turns >= limits.max_turns else None

    def _repeats(self) -> int:
        """How often the last turn that stands has been made in a row, with the same answer."""
        active = self._stand()
        count = 0
        for step in reversed(active):
            if _said_and_seen(step) != _said_and_seen(active[-1]):
                break
            count += 1
        return count


def _said_and_seen(step: Step) -> tuple[str, str]:
    return canonical_json([call.arguments for call in step.tool_calls]) + step.message, "".join(
        item.content for item in step.observations[-1:]
    )


def _edit_key(call: Call) -> tuple[str, str, str]:
    return call.arguments["path"].strip(), call.arguments["old"], call.arguments["new"]


def _edit_line(call: Call) -> tuple[str, str]:
    """File and first line of the text that an edit replaces."""
    return normal_path(call.arguments["path"]) or "", call.arguments["old"].split("\n")[0]


def _last(turns: Sequence[Step], kind: Callable[[Step], bool]) -> int | None:
    """Where the last turn of a kind is."""
    return next((place for place in reversed(range(len(turns))) if kind(turns[place])), None)


def _localises(step: Step) -> bool:
    """Whether a turn is a search without a query that was answered."""
    call = step.tool_calls[0]
    query = call.arguments.get("query", "") if isinstance(call.arguments, dict) else ""
    return call.name == "search" and not call.error and not str(query).strip()


def _digest(messages: tuple[Message, ...]) -> str:
    turns: JsonValue = [[message.role, message.content] for message in messages]
    return hashlib.sha256(canonical_json(turns).encode()).hexdigest()
