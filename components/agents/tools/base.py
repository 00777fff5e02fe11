"""What a tool is, and what it has to work with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from components.agents.checks import Checks
from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.source import spans
from components.agents.spectrum import Localization
from components.agents.suspects import Suspect
from components.records.task import Task
from components.sandbox.base import Session, UnsafePathError

WORTH_A_LOOK = 0.3
"""Suspiciousness, relative to the highest, below which a function is no alternative."""


@dataclass(frozen=True)
class Parameter:
    """One argument of a tool. All values are text."""

    name: str
    description: str
    required: bool = True


@dataclass(frozen=True)
class Outcome:
    """What came of a call."""

    content: str
    error: str = ""
    """`<code>: <text>` when the call failed; empty when it worked, whatever tests said."""
    cached: bool = False
    """The result of an identical earlier run was used."""
    undo: Callable[[], None] | None = None
    """Takes the change to the repository back."""
    done: bool = False
    """The rollout ends here."""
    shows: str = ""
    """Path of the file that the answer shows source of, if it does."""

    @classmethod
    def failure(cls, code: str, text: str) -> "Outcome":
        """A failed call. The model reads `text`."""
        return cls(f"error: {text}", f"{code}: {text}")


@dataclass
class ToolContext:
    """The state of one rollout that tools share."""

    session: Session
    task: Task
    scaffold: ScaffoldConfig
    limits: AgentLimits
    checks: Checks
    tests_visible: bool
    localization: Localization | None = None
    """Of the last search without a query."""
    tried: set[tuple[str, str]] = field(default_factory=set)
    """(path, function) that were given up after too many failed edits."""
    found: set[str] = field(default_factory=set)
    """Files that a search with a query has found."""
    last_function: tuple[str, str] | None = None
    """(path, function) that was shown last; None after a view of lines."""
    viewed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Path to the lines that were looked at last."""

    def suspects(self) -> list[Suspect]:
        """What the last localisation found, most suspicious first, without functions that were given up."""
        found = self.localization.suspects if self.localization else ()
        return [item for item in found if item.place not in self.tried]

    def known_functions(self) -> list[tuple[str, str]]:
        """(path, name) of the functions of files that a query has found, without those given up."""
        known = {(path, span.name) for path in self.found for span in spans(self.text(path) or "")}
        return sorted(known - self.tried)

    def give_up(self) -> None:
        """Never show the function again that was shown last."""
        if self.last_function is not None:
            self.tried.add(self.last_function)

    def alternative(self) -> bool:
        """Whether another function than the one shown last is suspicious enough to be worth a look."""
        return any(
            item.score >= WORTH_A_LOOK and item.place != self.last_function for item in self.suspects()
        )

    def text(self, path: str) -> str | None:
        """A file of the repository as text; None if there is none."""
        try:
            if not self.session.exists(path):
                return None
            data = self.session.read(path)
        except UnsafePathError:
            return None
        return data.decode("utf-8", errors="surrogateescape")

    @property
    def statement(self) -> str:
        """What the agent was told."""
        return self.task.problem_statement if self.tests_visible else self.task.problem_statement_hidden

    @property
    def failing(self) -> tuple[str, ...]:
        """The failing tests that the agent may run."""
        return self.task.fail_to_pass if self.tests_visible else ()


class Tool(Protocol):
    """A tool. Stateless: what it needs to remember is in the context."""

    @property
    def name(self) -> str:
        """What a call says."""

    @property
    def description(self) -> str:
        """One line for the model."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its arguments."""

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Carry out a call whose argument names have been checked."""


def json_schema(tool: Tool) -> dict[str, JsonValue]:
    """The tool as OpenAI's function schema."""
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": {
                "type": "object",
                "properties": {
                    item.name: {"type": "string", "description": item.description} for item in tool.parameters
                },
                "required": [item.name for item in tool.parameters if item.required],
                "additionalProperties": False,
            },
        },
    }


def normal_path(text: str) -> str | None:
    """A path inside the repository, or None when it leads elsewhere."""
    path = text.strip().removeprefix("/repo/").removeprefix("./")
    parts = path.split("/")
    return None if not path or path.startswith("/") or ".." in parts else path
