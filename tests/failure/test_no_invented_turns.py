"""No turn is ever invented, merged or mended: what a model did not say is not in what is trained on.

SWE-smith's exporter replaced "Exit due to cost limit" by a made-up "we have fixed the issue" and a submit;
SERA inherited it. Here a rollout that ends anyhow ends there.
"""

import pytest

from components.agents.atif import to_atif
from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.transcript import messages
from components.records.repository import Recipe
from components.records.trajectory import ExitStatus
from components.sandbox.base import Sandbox, Tree
from tests.agents.support import SEARCH, SUBMIT, TEST, VIEW, Bench, edit, turns
from tests.grading.support import one_bug

FIX = edit("total -= value", "total += value")
ODD = f"  Thinking...\n{FIX}\n\n  "
ENDINGS: list[tuple[ExitStatus, list[str], AgentLimits]] = [
    (ExitStatus.SUBMITTED, [SEARCH, ODD, SUBMIT], AgentLimits()),
    (ExitStatus.TURN_LIMIT, [SEARCH, VIEW, ODD], AgentLimits(max_turns=3)),
    (ExitStatus.TOKEN_LIMIT, [SEARCH, VIEW, ODD, TEST], AgentLimits(max_tokens=60)),
    (ExitStatus.TIME_LIMIT, [SEARCH, VIEW], AgentLimits(wall_seconds=0.0001)),
    (ExitStatus.MALFORMED, [SEARCH, "Exit due to cost limit", "", "<function=submit>"], AgentLimits()),
    (ExitStatus.LOOPED, [VIEW, VIEW, VIEW, VIEW], AgentLimits()),
]


@pytest.mark.parametrize(("status", "script", "limits"), ENDINGS, ids=[str(row[0]) for row in ENDINGS])
@pytest.mark.parametrize("policy", ["rewind", "keep"])
def test_every_turn_was_said(
    tiny_sandbox: Sandbox,
    tiny_tree: Tree,
    tiny_recipe: Recipe,
    status: ExitStatus,
    script: list[str],
    limits: AgentLimits,
    policy: str,
) -> None:
    said: list[str] = []

    def model(request: object) -> str:
        said.append(script[len(said)])
        return said[-1]

    scaffold = ScaffoldConfig.model_validate({"on_failed_edit": policy, "on_failed_call": policy})
    [row] = Bench(tiny_sandbox, tiny_tree, tiny_recipe).run(
        model, [one_bug()], scaffold=scaffold, limits=limits, graded=False
    )
    assert row.exit_status is status
    assert [step.message for step in turns(row)] == said
    trained = [message.content for message in messages(row) if message.role == "assistant"]
    assert trained == [step.message for step in turns(row) if not step.rewound]
    assert [step.message for step in to_atif(row).steps if step.source == "agent"] == said
    if status is not ExitStatus.SUBMITTED:
        assert SUBMIT not in trained
