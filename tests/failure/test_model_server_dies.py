"""The server of the model goes away in the middle of a rollout: nobody blames the model, nothing hangs."""

from typing import Any

from components.agents.config import AgentLimits
from components.agents.models.config import OpenAIConfig
from components.agents.models.openai import OpenAIModel
from components.grading.submission import task_files
from components.records.repository import Recipe
from components.records.trajectory import ExitStatus
from components.sandbox.base import Sandbox, Tree
from tests.agents.server import Answer, completion, error, serve
from tests.agents.support import SEARCH, SUBMIT, VIEW, Bench, edit, turns
from tests.grading.support import one_bug

SAID = [SEARCH, VIEW, edit("total -= value", "total += value"), SUBMIT]


def model(url: str) -> OpenAIModel:
    config = OpenAIConfig(base_url=url, model="m", attempts=2, timeout_seconds=5)
    return OpenAIModel(config, sleep=lambda seconds: None)


def test_a_server_that_dies_for_good(tiny_sandbox: Sandbox, tiny_tree: Tree, tiny_recipe: Recipe) -> None:
    def respond(number: int, body: dict[str, Any]) -> Answer:
        return (200, completion(SAID[number])) if number < 2 else (0, None)

    with serve(respond) as server:
        bench = Bench(tiny_sandbox, tiny_tree, tiny_recipe)
        [row] = bench.run(model(server.url), [one_bug()], limits=AgentLimits(infrastructure_retries=1))
    assert row.exit_status is ExitStatus.INFRASTRUCTURE and row.grade is None
    assert [step.message for step in turns(row)] == SAID[:2]  # what was said is kept, nothing is added


def test_a_server_that_was_never_there(tiny_sandbox: Sandbox, tiny_tree: Tree, tiny_recipe: Recipe) -> None:
    with serve(lambda number, body: (0, None)) as server:
        url = server.url
    [row] = Bench(tiny_sandbox, tiny_tree, tiny_recipe).run(
        model(url), [one_bug()], limits=AgentLimits(infrastructure_retries=0)
    )
    assert row.exit_status is ExitStatus.INFRASTRUCTURE and turns(row) == []


def test_a_server_that_comes_back(tiny_sandbox: Sandbox, tiny_tree: Tree, tiny_recipe: Recipe) -> None:
    """The conversation goes on where it was, with the same request."""

    def respond(number: int, body: dict[str, Any]) -> Answer:
        if number in (2, 3):
            return error(502, "bad gateway")
        return 200, completion(SAID[number if number < 2 else number - 2])

    with serve(respond) as server:
        [row] = Bench(tiny_sandbox, tiny_tree, tiny_recipe).run(model(server.url), [one_bug()])
    assert row.exit_status is ExitStatus.SUBMITTED and row.grade is not None and row.grade.resolved
    assert server.asked[2] == server.asked[3] == server.asked[4]
    assert task_files(one_bug(), tiny_tree)
