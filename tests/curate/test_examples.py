"""Which turns carry loss."""

from components.agents.transcript import messages
from components.curate.config import CurateConfig
from components.curate.examples import example
from components.records.trajectory import Trajectory
from tests.chain import agent_step, repository, task, trajectory

TASK = task(1, repository())
CONFIG = CurateConfig()


def chat(row: Trajectory, config: CurateConfig = CONFIG) -> list[tuple[str, bool]]:
    made = example(row, config)
    assert made is not None
    return [(message.role, message.train) for message in made.messages]


def test_only_turns_of_the_assistant_whose_call_worked_carry_loss() -> None:
    assert chat(trajectory(TASK)) == [
        ("system", False),
        ("user", False),
        ("assistant", True),  # view
        ("user", False),
        ("assistant", False),  # an edit that failed stays in the context and is not learnt
        ("user", False),
        ("assistant", True),  # the edit that worked
        ("user", False),
        ("assistant", True),  # submit; what the tool says to it is dropped
    ]


def test_failed_calls_are_trained_on_when_asked_for() -> None:
    flags = [
        train
        for role, train in chat(trajectory(TASK), CurateConfig(mask_failed_calls=False))
        if role == "assistant"
    ]
    assert flags == [True, True, True, True]


def test_turns_that_were_taken_back_are_absent() -> None:
    made = example(trajectory(TASK), CONFIG)
    assert made is not None and not any("lost" in message.content for message in made.messages)


def test_text_is_the_models_own() -> None:
    row = trajectory(TASK)
    made = example(row, CONFIG)
    assert made is not None
    assert [message.content for message in made.messages] == [
        message.content for message in messages(row)[: len(made.messages)]
    ]


def test_what_follows_the_last_trained_turn_is_dropped() -> None:
    row = trajectory(TASK)
    failed = agent_step(7, "edit", {"old": "x"}, "no match", error="no match")
    assert chat(row.model_copy(update={"steps": (*row.steps, failed)})) == chat(row)


def test_nothing_to_train_on_is_no_example() -> None:
    row = trajectory(TASK)
    assert example(row.model_copy(update={"steps": row.steps[:2]}), CONFIG) is None
    failed = agent_step(2, "edit", {"old": "x"}, "no match", error="no match")
    assert example(row.model_copy(update={"steps": (*row.steps[:2], failed)}), CONFIG) is None


def test_every_example_names_where_it_came_from() -> None:
    row = trajectory(TASK)
    made = example(row, CONFIG)
    assert made is not None
    assert (made.trajectory_id, made.task_id, made.repository_id) == (row.id, TASK.id, TASK.repository_id)


def test_the_id_follows_from_content_and_flags() -> None:
    row = trajectory(TASK)
    first, again = example(row, CONFIG), example(row, CONFIG)
    unmasked = example(row, CurateConfig(mask_failed_calls=False))
    other = example(trajectory(TASK, 1), CONFIG)
    assert first and again and unmasked and other
    assert first.id == again.id and len({first.id, unmasked.id, other.id}) == 3
