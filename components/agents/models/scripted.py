"""`ScriptedModel`: turns written down in advance."""

from collections.abc import Callable, Sequence

from components.agents.models.base import ModelReply, ModelRequest
from components.agents.models.config import ScriptedConfig

Script = Callable[[ModelRequest], ModelReply | str]


class ScriptedModel:
    """Says what a script says: a list of turns per rollout, or a function of the request."""

    name = "scripted"
    demonstrator = False
    max_batch = 64
    parallel = 1
    lockstep = False

    def __init__(
        self, script: Sequence[str] | Script, *, name: str = "scripted", lockstep: bool = False
    ) -> None:
        self.name, self.lockstep = name, lockstep
        self._script: Script = script if callable(script) else _in_order(script)

    @classmethod
    def from_config(cls, config: ScriptedConfig) -> "ScriptedModel":
        """The model a configuration describes."""
        return cls(config.replies)

    def begin(self) -> None:
        """Nothing is kept."""

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """The next turn of each rollout."""
        replies = [self._script(request) for request in requests]
        return [_reply(request, said) for request, said in zip(requests, replies, strict=True)]


def _in_order(turns: Sequence[str]) -> Script:
    said: dict[str, int] = {}

    def script(request: ModelRequest) -> str:
        turn = said.get(request.conversation, 0)
        said[request.conversation] = turn + 1
        return turns[min(turn, len(turns) - 1)]

    return script


def _reply(request: ModelRequest, said: ModelReply | str) -> ModelReply:
    if isinstance(said, ModelReply):
        return said
    words = sum(len(message.content.split()) for message in request.messages)
    return ModelReply(said, prompt_tokens=words, completion_tokens=len(said.split()))
