from components.agents.transcript import messages
from components.records.trajectory import ExitStatus, Observation, Step, ToolCall, Trajectory, Usage


def call(name: str, error: str = "", **arguments: str) -> tuple[ToolCall, ...]:
    return (ToolCall(id="c", name=name, arguments=dict(arguments), error=error),)


def saw(*texts: str) -> tuple[Observation, ...]:
    return tuple(Observation(call_id="c", content=text) for text in texts)


def trajectory(*steps: Step) -> Trajectory:
    head = (
        Step(index=0, source="system", message="S"),
        Step(index=1, source="user", message="U"),
    )
    return Trajectory(
        id="t", task_id="t", repository_id="r", model="m", scaffold="s", scaffold_sha256="", attempt=0,
        tests_visible=True, tools=[], sampling={}, steps=(*head, *steps), exit_status=ExitStatus.SUBMITTED,
        patch="", usage=Usage(),
    )  # fmt: skip


def agent(index: int, message: str, **fields: object) -> Step:
    return Step.model_validate({"index": index, "source": "agent", "message": message, **fields})


def test_the_active_path_is_what_the_last_turn_saw() -> None:
    row = trajectory(
        agent(
            2,
            "<function=search>\n</function>",
            tool_calls=call("search"),
            observations=saw("old list", "new list"),
        ),
        agent(3, "x", tool_calls=call("view"), observations=saw("source"), rewound=True),
        agent(4, "y", tool_calls=call("", "malformed: no call"), observations=saw("error: no call")),
        agent(5, "<function=submit>\n</function>", tool_calls=call("submit")),
    )
    assert [(item.role, item.content, item.train) for item in messages(row)] == [
        ("system", "S", False),
        ("user", "U", False),
        ("assistant", "<function=search>\n</function>", True),
        ("user", "new list", False),
        ("assistant", "y", False),
        ("user", "error: no call", False),
        ("assistant", "<function=submit>\n</function>", True),
    ]


def test_text_is_passed_on_as_emitted() -> None:
    odd = "Hm.\n<function=test>\n\n</function>\n\n  "
    assert (
        messages(trajectory(agent(2, odd, tool_calls=call("test"), observations=saw("1 passed"))))[2].content
        == odd
    )


def test_a_native_call_is_shown_in_our_format() -> None:
    row = trajectory(agent(2, "Look.", tool_calls=call("view", path="a.py"), observations=saw("x")))
    assert messages(row)[2].content == "Look.\n<function=view>\n<parameter=path>a.py</parameter>\n</function>"
