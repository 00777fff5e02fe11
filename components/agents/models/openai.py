"""`OpenAIModel`: any server that speaks the OpenAI chat API (vLLM, SGLang, llama.cpp, hosted ones)."""

import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import openai
import tenacity
from pydantic import JsonValue

from components.agents.models.base import ModelReply, ModelRequest, NativeCall
from components.agents.models.config import OpenAIConfig
from components.agents.toolcall import MalformedCall, parse
from components.records.errors import ConfigError, InfrastructureError
from components.records.training import Message

_RETRIED = (
    openai.APIConnectionError,
    openai.RateLimitError,
    openai.InternalServerError,
    openai.ConflictError,
)
_REFUSED = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)


class _OddReplyError(Exception):
    """The server said 200, but not what a chat completion is."""


class OpenAIModel:
    """Asks a server, patiently: 429, 5xx, lost connections and time-outs are tried again with jitter."""

    demonstrator = False
    max_batch = 1
    lockstep = False

    def __init__(self, config: OpenAIConfig, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.config = config
        self.name = config.model
        self.parallel = config.parallel
        self._client = openai.OpenAI(
            base_url=config.base_url,
            api_key=os.environ.get(config.api_key_env) or "none",
            timeout=config.timeout_seconds,
            max_retries=0,
        )
        self._retry = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type((*_RETRIED, _OddReplyError)),
            wait=tenacity.wait_random_exponential(multiplier=0.5, max=config.max_backoff_seconds),
            stop=tenacity.stop_after_attempt(config.attempts),
            sleep=sleep,
            reraise=True,
        )

    def begin(self) -> None:
        """Nothing is kept."""

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Sample one turn for each request.

        Raises:
            InfrastructureError: The server keeps failing.
            ConfigError: The server refuses us, so that trying again is pointless.
        """
        return [self._one(request) for request in requests]

    def _one(self, request: ModelRequest) -> ModelReply:
        started = time.monotonic()
        try:
            reply = self._retry(self._ask, request)
        except _REFUSED as error:
            allowed = f"a model and key that {self.config.base_url} accepts"
            raise ConfigError("model", self.config.model, allowed, str(error)) from error
        except openai.BadRequestError as error:
            if "context" not in str(error).lower():
                raise ConfigError(
                    "model", self.config.model, "requests that it accepts", str(error)
                ) from error
            reply = ModelReply("", finish="length")  # longer than the model's context: the turn is lost
        except (*_RETRIED, _OddReplyError) as error:
            raise InfrastructureError(
                f"{self.config.base_url}: gave up after {self.config.attempts} tries: {error}"
            ) from error
        return ModelReply(**{**reply.__dict__, "seconds": time.monotonic() - started})

    def _ask(self, request: ModelRequest) -> ModelReply:
        native = self.config.native_tools
        extra: dict[str, Any] = {"tools": list(request.tools)} if native and request.tools else {}
        try:
            answer: Any = self._client.chat.completions.create(
                model=self.config.model,
                messages=_wire(request.messages, native=native),
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                seed=request.seed,
                **extra,
            )
        except json.JSONDecodeError as error:
            raise _OddReplyError(f"the answer is no JSON: {error}") from error
        if not getattr(answer, "choices", None) or answer.choices[0].message is None:
            raise _OddReplyError(f"no choice in the answer: {answer}")
        choice, usage = answer.choices[0], answer.usage
        prompt = usage.prompt_tokens if usage else 0
        completion = usage.completion_tokens if usage else 0
        return ModelReply(
            text=choice.message.content or "",
            calls=_calls(choice.message.tool_calls or ()) if native else (),
            prompt_tokens=prompt,
            completion_tokens=completion,
            finish="length" if choice.finish_reason == "length" else "stop",
            dollars=(
                prompt * self.config.dollars_per_million_prompt
                + completion * self.config.dollars_per_million_completion
            )
            / 1e6,
        )


def _calls(given: Sequence[Any]) -> tuple[NativeCall, ...]:
    calls = []
    for item in given:
        try:
            arguments = json.loads(item.function.arguments or "{}")
        except json.JSONDecodeError:
            # Half a call, as at finish_reason=length: not one that can be carried out.
            arguments = {"unreadable": item.function.arguments}
        if not isinstance(arguments, dict):
            arguments = {"unreadable": item.function.arguments}
        calls.append(NativeCall(item.function.name, {key: _text(value) for key, value in arguments.items()}))
    return tuple(calls)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _wire(messages: Sequence[Message], *, native: bool) -> Any:
    """The chat as the server wants it; with native tools, calls and results in their own fields."""
    if not native:
        return [{"role": message.role, "content": message.content} for message in messages]
    out: list[dict[str, Any]] = []
    pending = ""
    for index, message in enumerate(messages):
        if message.role == "assistant":
            try:
                call = parse(message.content)
            except MalformedCall:
                out.append({"role": "assistant", "content": message.content})
                continue
            pending = f"call_{index}"
            function = {"name": call.name, "arguments": json.dumps(dict(call.arguments))}
            out.append(
                {
                    "role": "assistant",
                    "content": call.thought or None,
                    "tool_calls": [{"id": pending, "type": "function", "function": function}],
                }
            )
        elif pending:
            out.append({"role": "tool", "tool_call_id": pending, "content": message.content})
            pending = ""
        else:
            out.append({"role": message.role, "content": message.content})
    return out
