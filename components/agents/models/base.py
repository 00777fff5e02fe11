"""What an agent loop asks of a model, and what it gets back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import JsonValue

from components.records.training import Message


class Continuations(Protocol):
    """How a turn may go on."""

    @property
    def closed(self) -> frozenset[str]:
        """By one of these, and no more."""

    @property
    def open(self) -> frozenset[str]:
        """By one of these, and then anything."""


class Guidance(Protocol):
    """Which texts a turn may still become."""

    def allows(self, text: str) -> bool:
        """Whether some allowed turn begins with this text."""

    def ahead(self, text: str) -> Continuations | None:
        """What may follow this text; None where it is easier to say what may not (`allows`)."""

    @property
    def idle(self) -> Mapping[str, str]:
        """Beginnings of edits, to whole turns that would change nothing: they are not allowed, but nearly."""

    def settled(self, text: str) -> bool:
        """Whether every allowed turn that begins with this text is one of those edits."""

    def fits(self, text: str) -> bool:
        """Whether a whole turn is allowed and can be carried out."""


@dataclass(frozen=True)
class ModelRequest:
    """One turn to be sampled. Equal requests ask for the same thing, whoever they are batched with."""

    task_id: str
    messages: tuple[Message, ...]
    temperature: float = 0.0
    """0 is greedy."""
    max_tokens: int = 256
    stop: tuple[str, ...] = ()
    """Generation ends after any of these, which stay in the text."""
    begin: str = ""
    """Not empty: a turn that does not hold this text within `begin_tokens` is cut off there, if the model can."""
    begin_tokens: int = 0
    seed: int = 0
    """Keyed by content, so that a row samples the same alone or in a batch."""
    avoid: tuple[tuple[int, ...], ...] = ()
    """Token ids already sampled in this very context: a model that can, samples without replacement."""
    guide: Guidance | None = None
    """Sample only turns that it allows, if the model can."""
    ranked: bool = False
    """Of the guide's edits take the most probable one that is not among `avoid`, if the model can."""
    elsewhere: bool = False
    """There are other places to look: where no edit is left among those ranked, say so, and sample none."""
    tools: tuple[Mapping[str, JsonValue], ...] = ()
    """JSON schemas of the tools, for servers with native tool calls."""
    tests_visible: bool = True
    """Whether the failing tests are in the agent's tree."""
    turns: int = 0
    """Turns made so far, those that were taken back included."""
    conversation: str = ""
    """Same for all turns of one rollout: a model may keep what it computed of the shared prefix."""


@dataclass(frozen=True)
class NativeCall:
    """A tool call that the server parsed itself."""

    name: str
    arguments: Mapping[str, str]


@dataclass(frozen=True)
class ModelReply:
    """One sampled turn, exactly as emitted, without its stop token."""

    text: str
    calls: tuple[NativeCall, ...] = ()
    prompt_tokens: int = 0
    completion_tokens: int = 0
    compared_tokens: int = 0
    """Read only to compare turns: no part of the conversation."""
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    finish: Literal["stop", "length", "exhausted"] = "stop"
    """`exhausted`: no turn was sampled, for there is no probable edit left (`ModelRequest.elsewhere`)."""
    seconds: float = 0.0
    dollars: float = 0.0


class Model(Protocol):
    """A model. `generate` answers every request, in order, or raises `InfrastructureError`."""

    @property
    def name(self) -> str:
        """Checkpoint digest, model name, or `oracle`."""

    @property
    def demonstrator(self) -> bool:
        """True: it knows the gold patch."""

    @property
    def max_batch(self) -> int:
        """Most requests in one call of `generate`."""

    @property
    def parallel(self) -> int:
        """How many calls of `generate` may run at once."""

    @property
    def lockstep(self) -> bool:
        """True: wait for every rollout's tools before each batch.

        The batch is then as large as can be and its composition the same in every run.
        """

    def begin(self) -> None:
        """Forget everything: what comes next must not depend on what came before."""

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Sample one turn for each request."""
