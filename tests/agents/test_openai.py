"""The client, against a server that answers over HTTP."""

import json
from typing import Any

import pytest

from components.agents.config import ScaffoldConfig
from components.agents.models.base import ModelRequest, NativeCall
from components.agents.models.config import OpenAIConfig
from components.agents.models.openai import OpenAIModel
from components.agents.transcript import messages
from components.records.errors import ConfigError, InfrastructureError
from components.records.training import Message
from components.records.trajectory import ExitStatus
from tests.agents.server import Answer, Server, completion, error, serve
from tests.agents.support import SEARCH, SUBMIT, VIEW, Bench, edit, seen, turns
from tests.grading.support import one_bug

REQUEST = ModelRequest(
    task_id="t",
    messages=(
        Message(role="system", content="S"),
        Message(role="user", content="U"),
        Message(role="assistant", content=f"Look.\n{VIEW}"),
        Message(role="user", content=".|def mean"),
        Message(role="assistant", content="no call"),
        Message(role="user", content="error"),
    ),
    temperature=0.5,
    max_tokens=33,
    seed=5,
    tools=({"type": "function", "function": {"name": "view"}},),
)


def client(server: Server, pauses: list[float] | None = None, **options: Any) -> OpenAIModel:
    config = OpenAIConfig.model_validate({"base_url": server.url, "model": "m", **options})
    return OpenAIModel(config, sleep=(pauses if pauses is not None else []).append)


def test_the_request_and_the_reply() -> None:
    with serve(lambda number, body: (200, completion(SEARCH))) as server:
        [reply] = client(server, dollars_per_million_prompt=2, dollars_per_million_completion=10).generate(
            [REQUEST]
        )
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens, reply.finish) == (SEARCH, 11, 7, "stop")
    assert reply.dollars == pytest.approx((11 * 2 + 7 * 10) / 1e6) and reply.seconds > 0 and reply.calls == ()
    [asked] = server.asked
    assert asked["messages"] == [{"role": m.role, "content": m.content} for m in REQUEST.messages]
    assert (asked["temperature"], asked["max_tokens"], asked["seed"], asked["model"]) == (0.5, 33, 5, "m")
    assert "tools" not in asked


@pytest.mark.parametrize(
    "trouble",
    [
        error(429, "slow down"),
        error(500),
        error(503),
        (0, None),
        (200, {"id": "x", "object": "chat.completion", "choices": []}),
        (200, b"<html>busy</html>"),
        (200, b""),
    ],
)
def test_what_may_pass_is_tried_again_with_jitter(trouble: Answer) -> None:
    pauses: list[float] = []
    answers = [trouble, trouble, (200, completion(SUBMIT))]
    with serve(lambda number, body: answers[number]) as server:
        [reply] = client(server, pauses).generate([REQUEST])
    assert reply.text == SUBMIT and len(server.asked) == 3
    assert len(pauses) == 2 and all(0 <= pause <= 30 for pause in pauses)
    assert server.asked[0] == server.asked[2]


def test_a_server_that_keeps_failing_is_infrastructure() -> None:
    with serve(lambda number, body: error(500)) as server:
        with pytest.raises(InfrastructureError, match="gave up after 3 tries"):
            client(server, attempts=3).generate([REQUEST])
    assert len(server.asked) == 3


def test_a_slow_server_times_out() -> None:
    import threading

    release = threading.Event()

    def hang(number: int, body: dict[str, Any]) -> Answer:
        release.wait(10)
        return 200, completion(SUBMIT)

    with serve(hang) as server:
        with pytest.raises(InfrastructureError):
            client(server, timeout_seconds=0.2, attempts=2).generate([REQUEST])
        release.set()


@pytest.mark.parametrize("code", [401, 403, 404, 400])
def test_a_refusal_is_for_the_user_to_mend(code: int) -> None:
    with serve(lambda number, body: error(code, "you cannot")) as server:
        with pytest.raises(ConfigError, match="you cannot"):
            client(server).generate([REQUEST])
    assert len(server.asked) == 1


def test_a_prompt_beyond_the_context_is_a_lost_turn_and_no_error() -> None:
    text = "This model's maximum context length is 2048 tokens."
    with serve(lambda number, body: error(400, text)) as server:
        [reply] = client(server).generate([REQUEST])
    assert reply.text == "" and reply.finish == "length"


def test_native_tool_calls_are_mapped_both_ways() -> None:
    call = {"name": "edit", "arguments": json.dumps({"path": "a.py", "old": "  x\n", "line": 3})}
    with serve(lambda number, body: (200, completion(None, "tool_calls", [call]))) as server:
        [reply] = client(server, native_tools=True).generate([REQUEST])
    assert (
        reply.calls == (NativeCall("edit", {"path": "a.py", "old": "  x\n", "line": "3"}),)
        and reply.text == ""
    )
    [asked] = server.asked
    assert asked["tools"] == list(REQUEST.tools)
    made, result, plain, after = asked["messages"][2:]
    assert made["content"] == "Look." and made["tool_calls"][0]["function"]["name"] == "view"
    assert json.loads(made["tool_calls"][0]["function"]["arguments"])["function"] == "mean"
    assert result == {"role": "tool", "tool_call_id": made["tool_calls"][0]["id"], "content": ".|def mean"}
    assert plain == {"role": "assistant", "content": "no call"} and after == {
        "role": "user",
        "content": "error",
    }


@pytest.mark.parametrize("native", [False, True])
def test_a_whole_rollout(bench: Bench, native: bool) -> None:
    fix = {"path": "tinylib/numbers.py", "old": "total -= value", "new": "total += value"}
    said = [
        ("search", {}, SEARCH),
        ("view", {"path": "tinylib/numbers.py", "function": "mean"}, VIEW),
        ("edit", fix, edit(fix["old"], fix["new"])),
        ("submit", {}, SUBMIT),
    ]

    def respond(number: int, body: dict[str, Any]) -> Answer:
        name, arguments, text = said[number]
        if native:
            return 200, completion("So.", "tool_calls", [{"name": name, "arguments": json.dumps(arguments)}])
        return 200, completion(text)

    with serve(respond) as server:
        [row] = bench.run(client(server, native_tools=native), [one_bug()])
    assert row.exit_status is ExitStatus.SUBMITTED and row.grade is not None and row.grade.resolved
    assert row.usage.prompt_tokens == 44 and row.model == "m"
    # In both forms the chat to train on is in our text format.
    chat = [message.content for message in messages(row) if message.role == "assistant"]
    assert chat == [f"So.\n{text}" if native else text for _, _, text in said]
    assert [step.message for step in turns(row)] == (["So."] * 4 if native else chat)


def test_half_a_native_call_is_malformed_and_not_carried_out(bench: Bench) -> None:
    half = {"name": "bash", "arguments": '{"command": "rm -rf ti'}
    two = [{"name": "test", "arguments": "{}"}, {"name": "submit", "arguments": "{}"}]
    answers = [
        completion(None, "length", [half]),
        completion(None, "tool_calls", two),
        completion(None, "stop"),
    ]
    with serve(lambda number, body: (200, answers[number])) as server:
        [row] = bench.run(
            client(server, native_tools=True),
            [one_bug()],
            scaffold=ScaffoldConfig(on_failed_call="keep"),
            graded=False,
        )
    assert row.exit_status is ExitStatus.MALFORMED and row.patch == ""
    assert [text.partition(":")[2].strip() for text in seen(row)] == [
        "bash has no parameter unreadable (cut off: too long)",
        "more than one call",
        "no <function=...> call found",
    ]
