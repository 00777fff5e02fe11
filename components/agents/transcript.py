"""From a trajectory to the chat that the model saw last: what curation trains on.

The active path leaves out turns that the scaffold took back. Text is passed on as emitted; nothing is
added, merged or repaired.
"""

from components.agents.toolcall import Call, render
from components.records.training import Message
from components.records.trajectory import Step, Trajectory


def messages(trajectory: Trajectory) -> tuple[Message, ...]:
    """The chat messages of the active path, in order.

    A turn has `train=True` when it is the model's and its call worked; curation may narrow that down.
    """
    return path(trajectory.steps)


def path(steps: tuple[Step, ...] | list[Step]) -> tuple[Message, ...]:
    """The chat messages of the steps that were not taken back."""
    out: list[Message] = []
    for step in steps:
        if step.rewound:
            continue
        if step.source != "agent":
            out.append(Message(role=step.source, content=step.message))
            continue
        worked = bool(step.tool_calls) and not any(call.error for call in step.tool_calls)
        out.append(Message(role="assistant", content=turn_text(step), train=worked))
        if step.observations:
            # A later observation of the same call replaces an earlier one, which only
            # turns that were taken back have seen (see `Rollout`).
            out.append(Message(role="user", content=step.observations[-1].content))
    return tuple(out)


def turn_text(step: Step) -> str:
    """What the model said. A native tool call, which has no text of its own, is rendered in our format."""
    if step.source == "agent" and "<function=" not in step.message:
        calls = [call for call in step.tool_calls if call.name]
        if calls and isinstance(calls[0].arguments, dict):
            arguments = {key: str(value) for key, value in calls[0].arguments.items()}
            return render(Call(calls[0].name, arguments, step.message))
    return step.message
