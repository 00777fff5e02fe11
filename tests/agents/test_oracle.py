"""The demonstrator, through the real tools."""

import pytest

from components.agents.config import ScaffoldConfig
from components.agents.models.base import ModelRequest
from components.agents.models.config import OracleConfig
from components.agents.models.oracle import LOOKS, OracleModel
from components.agents.toolcall import parse
from components.agents.transcript import messages
from components.grading.submission import task_files
from components.records.errors import InputError
from components.records.task import Task
from components.records.training import Message
from components.records.trajectory import ExitStatus, Trajectory
from tests.agents.support import SEARCH, Bench, seen, turns
from tests.grading.support import (
    MEAN,
    NUMBERS,
    WORDS,
    diff,
    one_bug,
    pristine,
    two_bugs,
)


def demonstrate(bench: Bench, task: Task, visible: bool = True, **options: object) -> Trajectory:
    model = OracleModel(
        [task], lambda asked: task_files(asked, bench.tree), OracleConfig.model_validate(options)
    )
    [row] = bench.run(model, [task], visible=visible)
    return row


def calls(row: Trajectory) -> list[str]:
    return [step.tool_calls[0].name for step in turns(row)]


def bug(change: dict[str, str], fail_to_pass: tuple[str, ...]) -> Task:
    """A task on `tinylib/numbers.py`: text replaced by other text."""
    clean = pristine(NUMBERS)
    text = clean
    for right, wrong in change.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    return one_bug().model_copy(
        update={
            "bug_patch": diff({NUMBERS: clean}, {NUMBERS: text}),
            "gold_patch": diff({NUMBERS: text}, {NUMBERS: clean}),
            "fail_to_pass": fail_to_pass,
            "pass_to_pass": tuple(test for test in one_bug().pass_to_pass if test not in fail_to_pass),
        }
    )


def test_it_walks_from_localisation_to_submission(bench: Bench) -> None:
    row = demonstrate(bench, one_bug())
    assert calls(row) == ["search", "edit", "test", "submit"]
    assert row.exit_status is ExitStatus.SUBMITTED and row.grade is not None and row.grade.resolved
    assert row.demonstrator and row.model == "oracle"
    assert not any(step.rewound or step.tool_calls[0].error for step in turns(row))


def test_the_last_test_run_may_be_left_out(bench: Bench) -> None:
    assert calls(demonstrate(bench, one_bug(), test_before_submit=False)) == [
        "search",
        "edit",
        "submit",
    ]


def test_without_visible_tests_it_goes_by_the_statement(bench: Bench) -> None:
    named = one_bug().model_copy(update={"problem_statement_hidden": "`tinylib.numbers.mean` is wrong."})
    row = demonstrate(bench, named, visible=False)
    assert calls(row) == ["search", "edit", "submit"]
    assert row.grade is not None and row.grade.resolved


def test_where_the_statement_names_no_function_it_searches_by_name(bench: Bench) -> None:
    row = demonstrate(bench, one_bug(), visible=False)
    assert calls(row) == ["search", "search", "view", "edit", "submit"]
    assert [step.tool_calls[0].arguments for step in turns(row)[:2]] == [{}, {"query": "mean"}]
    assert row.grade is not None and row.grade.resolved


def test_a_query_calls_a_function_as_the_statement_does(bench: Bench) -> None:
    other = "`tinylib.numbers.clamp` is wrong, or so tinylib.numbers.mean says."
    row = demonstrate(bench, one_bug().model_copy(update={"problem_statement_hidden": other}), visible=False)
    asked = [
        (step.tool_calls[0].arguments, answer)
        for step, answer in zip(turns(row), seen(row), strict=True)
        if step.tool_calls[0].name == "search"
    ]
    assert asked[0][1].startswith("tinylib/numbers.py::clamp 9")
    assert asked[-1] == ({"query": "tinylib.numbers.mean"}, "tinylib/numbers.py:15 mean")
    assert row.grade is not None and row.grade.resolved


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("        count += 1\n", ""),
        ("    total = 0\n", ""),
        ("    if count == 0:\n        return 0.0\n", ""),
        ("    return total / count\n", "    return total\n    return total / count\n"),
    ],
)
def test_removed_and_added_lines(bench: Bench, right: str, wrong: str) -> None:
    test = f"{MEAN}_of_nothing" if "0.0" in right else MEAN
    row = demonstrate(bench, bug({right: wrong}, (test,)))
    assert row.grade is not None and row.grade.resolved, seen(row)
    assert calls(row).count("edit") == 1


def test_several_hunks_of_one_function_are_one_edit(bench: Bench) -> None:
    row = demonstrate(
        bench, bug({"    total = 0": "    total = 1", "        count += 1": "        count += 2"}, (MEAN,))
    )
    assert calls(row) == ["search", "edit", "test", "submit"]
    assert row.grade is not None and row.grade.resolved


def test_several_files_are_several_edits(bench: Bench) -> None:
    """Which only a scaffold that keeps half-made fixes allows."""
    task = two_bugs()
    model = OracleModel([task], lambda asked: task_files(asked, bench.tree))
    [row] = bench.run(model, [task], scaffold=ScaffoldConfig(on_failed_edit="keep"))
    assert calls(row) == ["search", "edit", "search", "edit", "test", "submit"]
    assert row.grade is not None and row.grade.resolved


def test_where_localisation_does_not_lead_to_the_function_it_searches_by_name(bench: Bench) -> None:
    """The bug to mend is in a function that no failing test reaches."""
    clean = pristine(WORDS)
    elsewhere = diff({WORDS: clean}, {WORDS: clean.replace("times < 0", "times <= 0")})
    misled = one_bug().model_copy(update={"gold_patch": elsewhere})
    model = OracleModel([misled], lambda asked: {**task_files(asked, bench.tree), WORDS: clean.encode()})
    [row] = bench.run(model, [misled], scaffold=ScaffoldConfig(on_failed_edit="keep"), graded=False)
    assert seen(row)[0].splitlines()[:2] == ["tinylib/numbers.py::mean 9", ".|def mean(values):"]
    made = calls(row)
    assert made[: made.index("view") + 2] == [*["search"] * (LOOKS + 1), "view", "edit"]
    assert turns(row)[LOOKS].tool_calls[0].arguments == {"query": "Tally.add"}
    assert row.patch == elsewhere


def test_where_localisation_shows_another_function_it_asks_again(bench: Bench) -> None:
    fix = two_bugs().gold_patch
    misled = two_bugs().model_copy(update={"gold_patch": fix[fix.index(f"diff --git a/{WORDS}") :]})
    model = OracleModel([misled], lambda asked: task_files(asked, bench.tree))
    [row] = bench.run(model, [misled], scaffold=ScaffoldConfig(on_failed_edit="keep"), graded=False)
    assert calls(row)[:3] == ["search", "search", "edit"]
    assert [step.rewound for step in turns(row)][:3] == [True, False, False]
    first, second = (text.splitlines() for text in seen(row)[:2])
    assert first[0] == "tinylib/numbers.py::mean 9" and first[1].startswith("tinylib/words.py::initials ")
    assert second[0] == first[1] and second[1] == ".|def initials(name):"
    # What is learnt from it is to find the function at once.
    assert [message.content for message in messages(row)].count(SEARCH) == 1


def test_it_does_not_edit_what_it_has_not_seen(bench: Bench) -> None:
    task = one_bug()
    model = OracleModel([task], lambda asked: task_files(asked, bench.tree))
    shown = (
        Message(role="system", content=""),
        Message(role="user", content="fix it"),
        Message(role="assistant", content="<function=search>\n</function>"),
        Message(role="user", content="tinylib/numbers.py::mean 9\n.|def mean(values):\n..."),
    )
    [reply] = model.generate([ModelRequest(task_id=task.id, messages=shown)])
    assert parse(reply.text).arguments == {"path": NUMBERS, "lines": "5-35"}


def test_a_task_it_does_not_know_is_an_error() -> None:
    with pytest.raises(InputError, match="does not know"):
        OracleModel([], lambda task: {}).generate([ModelRequest(task_id="other", messages=())])
