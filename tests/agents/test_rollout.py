"""Policies of the scaffold and every way a rollout ends."""

from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.models.base import ModelReply, ModelRequest
from components.agents.models.scripted import Script
from components.agents.toolcall import Call, render
from components.agents.transcript import messages
from components.records.trajectory import ExitStatus
from tests.agents.support import PATH, SEARCH, SUBMIT, TEST, VIEW, Bench, bash, edit, seen, turns
from tests.grading.support import one_bug, three_bugs, two_bugs

FIX = edit("        total -= value\n", "        total += value\n")
WRONG = edit("        total -= value\n", "        total *= value\n")
OTHER = edit("        total -= value\n", "        total = value\n")


def in_order(*said: str) -> tuple[Script, list[ModelRequest]]:
    """A script that says these things in order, and the requests it was sent."""
    requests: list[ModelRequest] = []

    def script(request: ModelRequest) -> str:
        requests.append(request)
        return said[min(len(requests), len(said)) - 1]

    return script, requests


def test_submitted(bench: Bench) -> None:
    [row] = bench.run([SEARCH, VIEW, FIX, TEST, SUBMIT], [one_bug()])
    assert row.exit_status is ExitStatus.SUBMITTED
    assert seen(row)[2:] == ["ok, tests pass", "1 passed", ""]
    assert row.grade is not None and row.grade.resolved and row.grade.reward == 1.0
    assert row.id == f"{one_bug().id}#scripted.flywheel.0"
    assert [message.role for message in messages(row)] == ["system", "user"] + ["assistant", "user"] * 4 + [
        "assistant"
    ]


def test_the_test_after_the_edit_is_not_run_twice(bench: Bench) -> None:
    [row] = bench.run([FIX, TEST, SUBMIT], [one_bug()])
    assert [step.observations[0].cached for step in turns(row)[:2]] == [False, True]


def test_turn_limit_counts_every_turn_and_the_patch_still_counts(bench: Bench) -> None:
    [row] = bench.run([WRONG, FIX, bash("true")], [one_bug()], limits=AgentLimits(max_turns=3))
    assert row.exit_status is ExitStatus.TURN_LIMIT and len(turns(row)) == 3
    assert row.grade is not None and row.grade.resolved


def test_malformed_calls_in_a_row(bench: Bench) -> None:
    said = ["What?", SEARCH, "<function=fly>\n</function>", "<function=view>\n</function>", "<function=edit>"]
    [row] = bench.run(said, [one_bug()])
    assert row.exit_status is ExitStatus.MALFORMED and len(turns(row)) == 5
    assert [step.tool_calls[0].error.partition(":")[0] for step in turns(row)] == [
        "malformed",
        "",
        *["malformed"] * 3,
    ]
    assert (
        "no tool fly; there are search, view" in seen(row)[2] and "view needs parameter path" in seen(row)[3]
    )
    assert row.grade is not None and row.grade.empty_patch and not row.grade.resolved


def test_the_same_call_again_and_again(bench: Bench) -> None:
    [row] = bench.run([SEARCH, VIEW], [one_bug()], limits=AgentLimits(max_repeats=3))
    assert row.exit_status is ExitStatus.LOOPED and len(turns(row)) == 4


def test_tokens_and_time(bench: Bench) -> None:
    [row] = bench.run([SEARCH, VIEW, TEST], [one_bug()], limits=AgentLimits(max_tokens=40))
    assert row.exit_status is ExitStatus.TOKEN_LIMIT
    [row] = bench.run([SEARCH, VIEW, TEST], [one_bug()], limits=AgentLimits(max_context_tokens=20))
    assert row.exit_status is ExitStatus.TOKEN_LIMIT and len(turns(row)) == 1
    [row] = bench.run([SEARCH, VIEW, TEST], [one_bug()], limits=AgentLimits(wall_seconds=0.0001))
    assert row.exit_status is ExitStatus.TIME_LIMIT and len(turns(row)) == 1


def test_a_failed_edit_is_taken_back_with_its_turn(bench: Bench) -> None:
    script, requests = in_order(SEARCH, VIEW, WRONG, OTHER, FIX, SUBMIT)
    [row] = bench.run(script, [one_bug()])
    assert [step.rewound for step in turns(row)] == [False, False, True, True, False, False]
    assert seen(row)[2] == "tests fail: AssertionError: assert 0.0 == 3"
    # The same context is sampled again, at another temperature and seed; a new context is not.
    assert requests[2].messages == requests[3].messages == requests[4].messages
    again = ScaffoldConfig().retry_temperature
    assert again > 0
    assert [request.temperature for request in requests] == [0.0, 0.0, 0.0, again, again, 0.0]
    assert len({request.seed for request in requests}) == len(requests)
    assert "total += value" in row.patch and "total *=" not in row.patch and "total = value" not in row.patch
    assert all("*=" not in message.content for message in messages(row))


def test_a_failed_edit_is_kept_if_so_configured(bench: Bench) -> None:
    [row] = bench.run([WRONG, SUBMIT], [one_bug()], scaffold=ScaffoldConfig(on_failed_edit="keep"))
    assert not turns(row)[0].rewound and "total *= value" in row.patch
    assert messages(row)[3].content.startswith("tests fail: ")


def test_the_same_edit_is_not_tried_twice(bench: Bench) -> None:
    [row] = bench.run([WRONG, WRONG, FIX, SUBMIT], [one_bug()])
    assert seen(row)[1] == "error: this edit was tried before" and turns(row)[1].rewound
    assert row.grade is not None and row.grade.resolved


def test_tokens_already_sampled_in_a_context_are_passed_on(bench: Bench) -> None:
    requests: list[ModelRequest] = []

    def script(request: ModelRequest) -> ModelReply:
        requests.append(request)
        said = [WRONG, OTHER, FIX, SUBMIT][len(requests) - 1]
        return ModelReply(said, token_ids=(len(requests), 7), logprobs=(-0.1, -0.2))

    [row] = bench.run(script, [one_bug()])
    assert [request.avoid for request in requests] == [(), ((1, 7),), ((1, 7), (2, 7)), ()]
    assert turns(row)[1].completion_token_ids == (2, 7) and turns(row)[1].logprobs == (-0.1, -0.2)


def test_after_too_many_failed_edits_another_function_can_be_chosen(bench: Bench) -> None:
    other_view = render(Call("view", {"path": "tinylib/words.py", "function": "initials"}))
    wrong_place = edit("upper()", "lower()", "tinylib/words.py")
    worse_place = edit("upper()", "title()", "tinylib/words.py")
    # Localisation lists both functions; the first one viewed is not where the fix of this test is.
    script, requests = in_order(SEARCH, other_view, wrong_place, worse_place, other_view, VIEW, FIX, SUBMIT)
    [row] = bench.run(script, [two_bugs()], scaffold=ScaffoldConfig(edits_per_view=(2,)), graded=False)
    assert [step.rewound for step in turns(row)] == [False, True, True, True, True, False, True, False]
    # The search answers again, without the function given up: a further observation of the same call.
    first, second = [item.content for item in turns(row)[0].observations]
    assert "initials" in first and "initials" not in second and "mean" in second
    assert requests[4].messages[-1].content == second and requests[4].temperature == 0.0
    assert messages(row)[3].content == second
    assert seen(row)[4] == "error: tinylib/words.py::initials was tried; choose another"


def test_after_too_many_failed_edits_the_localisation_shows_the_next_function(bench: Bench) -> None:
    line = '    return "".join(word[-1].upper() for word in name.split())\n'
    elsewhere = edit(line, line.replace("-1", "0"), "tinylib/words.py")
    script, requests = in_order(SEARCH, WRONG, OTHER, elsewhere, SUBMIT)
    [row] = bench.run(script, [two_bugs()], scaffold=ScaffoldConfig(edits_per_view=(2,)), graded=False)
    assert [step.rewound for step in turns(row)] == [False, True, True, True, False]
    first, second = [item.content for item in turns(row)[0].observations]
    assert first.startswith("tinylib/numbers.py::mean 9\n") and "9|        total -= value" in first
    assert second.startswith("tinylib/words.py::initials ") and "|def initials(name):" in second
    assert "numbers.py" not in second and requests[3].messages[-1].content == second
    guides = [request.guide for request in requests]
    assert guides[1] and guides[1].allows(WRONG) and not guides[1].allows(elsewhere)
    assert guides[3] and guides[3].allows(elsewhere) and not guides[3].allows(WRONG)


def test_the_first_function_can_have_more_tries_than_those_after_it(bench: Bench) -> None:
    shown: list[str] = []

    def script(request: ModelRequest) -> str:
        if not request.turns:
            return SEARCH
        shown.append(request.messages[-1].content.split("\n")[0])
        assert request.guide is not None
        begin, same = next(iter(request.guide.idle.items()))
        old = same.removeprefix(begin).partition("\n</parameter>")[0]
        return f"{begin}{old}  # {request.turns}\n</parameter>\n</function>"

    scaffold = ScaffoldConfig(edits_per_view=(3, 1), suspects_listed=1)
    bench.run(script, [three_bugs()], scaffold=scaffold, limits=AgentLimits(max_turns=7), graded=False)
    assert [len(list(same)) for _, same in groupby(shown)] == [3, 1, 2]
    assert len(set(shown)) == 3


def test_a_model_that_knows_no_further_edit_is_shown_the_next_function_at_no_turn(bench: Bench) -> None:
    spent = ModelReply("", completion_tokens=1, compared_tokens=600, finish="exhausted")
    requests: list[ModelRequest] = []

    def script(request: ModelRequest) -> ModelReply:
        requests.append(request)
        search, wrong, other, submit = (
            ModelReply(said, completion_tokens=1) for said in (SEARCH, WRONG, OTHER, SUBMIT)
        )
        return [search, wrong, spent, spent, other, submit][len(requests) - 1]

    [row] = bench.run(script, [two_bugs()], graded=False)
    assert [step.tool_calls[0].name for step in turns(row)] == ["search", "edit", "edit", "submit"]
    assert [item.content.split(" ")[0] for item in turns(row)[0].observations] == [
        "tinylib/numbers.py::mean",
        "tinylib/words.py::initials",
    ]
    assert requests[3].messages[-1].content.startswith("tinylib/words.py::initials")
    # There is no third function: the same is asked again, and then some turn must be made.
    assert [request.elsewhere for request in requests[1:5]] == [True, True, False, False]
    assert row.usage.completion_tokens == 6 + 2 * 600


def test_a_localisation_that_is_asked_for_again_shows_the_next_function(bench: Bench) -> None:
    [row] = bench.run([SEARCH, TEST, SEARCH, SEARCH, SUBMIT], [two_bugs()], graded=False)
    assert [step.rewound for step in turns(row)] == [True, True, True, False, False]
    places = [turns(row)[index].observations[-1].content.split(" ")[0] for index in (0, 2, 3)]
    # There is no third: it stays.
    assert places == ["tinylib/numbers.py::mean", *["tinylib/words.py::initials"] * 2]


def test_a_function_given_up_comes_back_once_the_repository_has_changed(bench: Bench) -> None:
    line = '    return "".join(word[-1].upper() for word in name.split())\n'
    half = edit(line, line.replace("-1", "0"), "tinylib/words.py")
    scaffold = ScaffoldConfig(on_failed_edit="keep")
    [row] = bench.run([SEARCH, SEARCH, half, SEARCH, SUBMIT], [two_bugs()], scaffold=scaffold, graded=False)
    places = [turns(row)[index].observations[-1].content.split(" ")[0] for index in (0, 1, 3)]
    assert places == ["tinylib/numbers.py::mean", "tinylib/words.py::initials", "tinylib/numbers.py::mean"]


def test_what_a_command_may_have_changed_is_not_taken_back_by_another_localisation(bench: Bench) -> None:
    [row] = bench.run([SEARCH, bash("true"), SEARCH, SUBMIT], [two_bugs()], graded=False)
    assert not any(step.rewound for step in turns(row))


def test_edits_stand_in_the_hidden_setting(bench: Bench) -> None:
    [row] = bench.run([WRONG, SUBMIT], [one_bug()], visible=False)
    assert seen(row)[0] == "ok" and not turns(row)[0].rewound
    assert row.grade is not None and not row.grade.resolved and not row.grade.empty_patch
    assert row.id.endswith("#scripted.flywheel-hidden.0") and not row.tests_visible
    assert messages(row)[1].content == one_bug().problem_statement_hidden


def test_failed_calls_are_taken_back_or_kept(bench: Bench) -> None:
    bad = render(Call("view", {"path": "nowhere.py"}))
    [row] = bench.run([bad, SUBMIT], [one_bug()], graded=False)
    assert turns(row)[0].rewound and len(messages(row)) == 3
    [row] = bench.run(
        [bad, SUBMIT], [one_bug()], scaffold=ScaffoldConfig(on_failed_call="keep"), graded=False
    )
    kept = messages(row)
    assert len(kept) == 5 and not kept[2].train and kept[4].train


def test_a_view_is_not_taken_back_when_the_repository_has_changed_since(bench: Bench) -> None:
    scaffold = ScaffoldConfig(edits_per_view=(1,))
    [row] = bench.run([VIEW, bash("true"), WRONG, FIX, SUBMIT], [one_bug()], scaffold=scaffold)
    assert [step.rewound for step in turns(row)] == [False, False, True, False, False]


def test_a_turn_that_was_cut_off_says_so(bench: Bench) -> None:
    replies = [ModelReply("<function=edit>\n<parameter=path>tiny", finish="length"), ModelReply(SUBMIT)]
    [row] = bench.run(
        lambda request: replies[len(request.avoid)], [one_bug()], limits=AgentLimits(max_turns=1)
    )
    assert seen(row) == ["error: parameter path is not closed (cut off: too long)"]


def test_what_was_read_to_compare_turns_is_spent_but_no_part_of_the_context(bench: Bench) -> None:
    reply = ModelReply(SUBMIT, prompt_tokens=10, completion_tokens=5, compared_tokens=5000)
    [row] = bench.run(lambda request: reply, [one_bug()], graded=False)
    assert row.exit_status is ExitStatus.SUBMITTED and row.usage.completion_tokens == 5005
    search = replace(reply, text=SEARCH)
    [row] = bench.run(lambda request: search, [one_bug()], limits=AgentLimits(max_turns=2), graded=False)
    assert row.exit_status is ExitStatus.TURN_LIMIT
    long = replace(search, completion_tokens=5000, compared_tokens=0)
    [row] = bench.run(lambda request: long, [one_bug()], limits=AgentLimits(max_turns=2), graded=False)
    assert row.exit_status is ExitStatus.TOKEN_LIMIT


@pytest.mark.parametrize(
    ("fields", "ranked"),
    [
        ({}, True),
        ({"edits": "sampled"}, False),
        ({"temperature": 0.5}, False),
        # Without what has been made, the first edit would be made again and again.
        ({"unique_retries": False}, False),
    ],
)
def test_when_edits_are_ranked(bench: Bench, fields: dict[str, Any], ranked: bool) -> None:
    asked: list[bool] = []

    def model(request: ModelRequest) -> str:
        asked.append(request.ranked)
        return SUBMIT

    bench.run(model, [one_bug()], scaffold=ScaffoldConfig(**fields), graded=False)
    assert asked == [ranked]


def test_the_scaffold_is_known_by_a_digest(bench: Bench) -> None:
    digests = {
        bench.run([SUBMIT], [one_bug()], scaffold=scaffold, limits=limits, graded=False)[0].scaffold_sha256
        for scaffold in (ScaffoldConfig(), ScaffoldConfig(edits_per_view=(7,)), ScaffoldConfig(prompt="full"))
        for limits in (AgentLimits(), AgentLimits(max_turns=11))
    }
    assert len(digests) == 6


@pytest.mark.parametrize("prompt", ["short", "full"])
def test_the_prompt_names_every_tool(bench: Bench, prompt: str) -> None:
    scaffold = ScaffoldConfig.model_validate({"prompt": prompt, "tools": ["view", "edit", "submit"]})
    [row] = bench.run([SEARCH, SUBMIT], [one_bug()], scaffold=scaffold, graded=False)
    system = row.steps[0].message
    assert all(f"{tool}(" in system for tool in ("view", "edit", "submit")) and "bash" not in system
    assert seen(row)[0] == "error: no tool search; there are view, edit, submit"


def test_paths_of_the_repository_as_the_sandbox_sees_it_are_understood(bench: Bench) -> None:
    absolute = render(Call("view", {"path": f"/repo/{PATH}", "function": "mean"}))
    [row] = bench.run([absolute, SUBMIT], [one_bug()], graded=False)
    assert seen(row)[0].startswith(".|def mean")
