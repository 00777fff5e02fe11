"""One accepted trajectory becomes one row of supervised training."""

import hashlib

from components.agents.transcript import messages
from components.curate.config import CurateConfig
from components.records.base import canonical_json
from components.records.training import Example, Message
from components.records.trajectory import Trajectory


def example(trajectory: Trajectory, config: CurateConfig) -> Example | None:
    """The chat of the active path, with loss on the assistant's turns whose call worked.

    What follows the last trained turn is dropped: it costs tokens and teaches nothing. None when no
    turn is left to train on.
    """
    chat = messages(trajectory)
    if not config.mask_failed_calls:
        chat = tuple(row.model_copy(update={"train": row.role == "assistant"}) for row in chat)
    if any(row.train and row.role != "assistant" for row in chat):
        raise AssertionError(f"{trajectory.id}: a message not written by the model is marked for training")
    last = max((position for position, row in enumerate(chat) if row.train), default=-1)
    if last < 0:
        return None
    chat = chat[: last + 1]
    return Example(
        id=example_id(trajectory.id, chat),
        task_id=trajectory.task_id,
        trajectory_id=trajectory.id,
        repository_id=trajectory.repository_id,
        messages=chat,
    )


def example_id(trajectory_id: str, chat: tuple[Message, ...]) -> str:
    """16 hex digits over the trajectory's id, the messages and their flags."""
    content = canonical_json([trajectory_id, [row.model_dump() for row in chat]])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
