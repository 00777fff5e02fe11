"""Each tool in the real sandbox, as a model sees it."""

import pytest

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.toolcall import Call, render
from components.records.trajectory import Trajectory
from tests.agents.support import PATH, SEARCH, SUBMIT, TEST, VIEW, Bench, bash, edit, seen, turns
from tests.grading.support import MEAN, TEST_NUMBERS, bug_of_a_parameter, one_bug, two_bugs

KEEP = ScaffoldConfig(on_failed_edit="keep", on_failed_call="keep", test_after_edit=False)
LOOSE = AgentLimits(max_turns=30, max_malformed=9, max_repeats=9)


def run(bench: Bench, *said: str, visible: bool = True) -> Trajectory:
    [row] = bench.run(
        [*said, SUBMIT], [one_bug()], scaffold=KEEP, limits=LOOSE, visible=visible, graded=False
    )
    return row


def find(query: str) -> str:
    return render(Call("search", {"query": query}))


def view(**arguments: str) -> str:
    return render(Call("view", {"path": PATH, **arguments}))


def test_search_ranks_functions_and_view_marks_their_lines(bench: Bench) -> None:
    listed, shown, *_ = seen(run(bench, SEARCH, VIEW))
    assert listed == f"tinylib/numbers.py::mean 9\n{shown}"
    assert shown.splitlines()[0] == ".|def mean(values):"
    assert "9|        total -= value" in shown.splitlines()
    assert ".|        return 0.0" in shown.splitlines()


def test_search_without_known_tests_goes_by_the_statement(bench: Bench) -> None:
    told = "`tinylib.numbers.clamp` is wrong\n  tinylib/numbers.py:17 in mean\n"
    task = one_bug().model_copy(update={"problem_statement_hidden": told})
    [row] = bench.run([SEARCH, SEARCH, SUBMIT], [task], visible=False, graded=False)
    first, second, _ = seen(row)
    assert first.splitlines()[:3] == [
        "tinylib/numbers.py::mean 9", "tinylib/numbers.py::clamp 5", ".|def mean(values):",
    ]  # fmt: skip
    assert [line[:2] for line in first.splitlines()[2:]].count(".>") == 1
    assert second.splitlines()[0] == "tinylib/numbers.py::clamp 5"


def test_search_with_nothing_to_go_by_asks_for_a_query(bench: Bench) -> None:
    row = run(bench, SEARCH, visible=False)
    assert "not known" in seen(row)[0] and seen(row)[0].endswith("give a query")
    assert not turns(row)[0].tool_calls[0].error


def test_search_finds_definitions_before_lines(bench: Bench) -> None:
    answers = seen(
        run(
            bench,
            find("clamp"),
            find("Tally.add"),
            find("value > high"),
            find("no such thing"),
            find("tinylib.words.Tally.add"),
            find("words.shorten"),
        )
    )
    assert answers[0].splitlines()[0] == "tinylib/numbers.py:4 clamp"
    assert "tinylib/words.py:13 shorten" in answers[0]
    assert answers[1] == "tinylib/words.py:33 Tally.add"
    assert answers[2] == "tinylib/numbers.py:10 clamp"
    assert answers[3] == "error: nothing matches no such thing"
    assert answers[4] == answers[1] and answers[5].splitlines()[0] == "tinylib/words.py:11 shorten"


def test_view_shows_lines_without_marks_before_a_search(bench: Bench) -> None:
    answers = seen(run(bench, view(lines="15-17"), view(lines="15"), view()))
    assert answers[0].splitlines()[1] == '.|    """The average; 0.0 of nothing."""'
    assert answers[1] == ".|def mean(values):"
    assert len(answers[2].splitlines()) == ScaffoldConfig().view_lines


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (render(Call("view", {"path": "no/such.py"})), "error: no such file: no/such.py"),
        (render(Call("view", {"path": "../../etc/passwd"})), "error: no such file: ../../etc/passwd"),
        (render(Call("view", {"path": "/etc/passwd"})), "error: no such file: /etc/passwd"),
        (view(function="median"), "error: no function median in tinylib/numbers.py"),
        (view(lines="a-b"), "error: lines must be like 10-40, not a-b"),
        (view(lines="900-910"), "error: tinylib/numbers.py has 46 lines"),
    ],
)
def test_view_says_what_is_not_there(bench: Bench, call: str, answer: str) -> None:
    assert seen(run(bench, call))[0] == answer


def test_edit_changes_the_sandbox_and_the_patch_is_its_diff(bench: Bench) -> None:
    row = run(bench, edit("total -= value", "total += value"))
    assert seen(row)[0] == "ok"
    assert "-        total -= value\n+        total += value\n" in row.patch


@pytest.mark.parametrize(
    ("call", "code", "answer"),
    [
        (edit("total = 7", "total = 0"), "not_found", "old not found in tinylib/numbers.py"),
        (edit("", "x"), "not_found", "old is empty"),
        (edit("total = 0", "total = 0"), "no_change", "old and new are the same"),
        (edit("values", "items"), "ambiguous", "old occurs 7 times, at lines 15, 19, 27, 31, 31"),
        (edit("x", "y", "tinylib/none.py"), "missing_file", "no such file: tinylib/none.py"),
        (edit("x", "y", "../x.py"), "missing_file", "no such file: ../x.py"),
        (edit("== 3", "== 4", TEST_NUMBERS), "protected", f"{TEST_NUMBERS} is protected"),
        (edit("x", "y", "tests/conftest.py"), "protected", "tests/conftest.py is protected"),
        (edit("if count == 0:", "if count == :"), "syntax", "SyntaxError: invalid syntax (line 22)"),
        (
            edit("    total = 0\n", "  total = 0\n"),
            "syntax",
            "IndentationError: unindent does not match any outer indentation level (line 17)",
        ),
    ],
)
def test_edit_refuses_what_is_not_exact_unique_and_sound(
    bench: Bench, call: str, code: str, answer: str
) -> None:
    row = run(bench, call)
    assert seen(row)[0] == f"error: {answer}"
    assert turns(row)[0].tool_calls[0].error.startswith(f"{code}: ")
    assert row.patch == ""


def test_edit_takes_of_several_matches_the_one_in_view(bench: Bench) -> None:
    ambiguous = edit("raise ValueError(", "raise TypeError(")
    row = run(bench, ambiguous, view(function="chunks"), ambiguous)
    assert seen(row)[0] == "error: old occurs 2 times, at lines 7, 30"
    assert seen(row)[2] == "ok" and '+        raise TypeError("size must' in row.patch


def test_bash_runs_in_the_sandbox(bench: Bench) -> None:
    row = run(
        bench,
        bash("ls tinylib; echo oops >&2; exit 3"),
        bash("sed -i 's/total -= value/total += value/' tinylib/numbers.py"),
        bash("seq 100000"),
        bash("ls -a / /repo; cat /etc/shadow; git log"),
    )
    answers = seen(row)
    assert answers[0] == "__init__.py\nnumbers.py\nwords.py\n\noops\nexit code 3"
    assert answers[1] == "(no output)" and "+        total += value" in row.patch
    assert answers[2].startswith("1\n2\n3\n") and answers[2].endswith("100000")
    assert len(answers[2]) < 2100 and "characters]" in answers[2]
    # No .git in the agent's tree: there is no history to read the fix from.
    assert ".git" not in answers[3].split() and "home" not in answers[3].split()


def test_bash_that_hangs_is_ended(bench: Bench) -> None:
    [row] = bench.run(
        [bash("echo start; sleep 60"), SUBMIT],
        [one_bug()],
        scaffold=KEEP,
        limits=AgentLimits(bash_seconds=1),
        graded=False,
    )
    assert seen(row)[0] == "start\ntimed out after 1 s"
    assert turns(row)[0].tool_calls[0].error.startswith("timeout")


def test_test_runs_the_named_tests_or_those_asked_for(bench: Bench) -> None:
    some = render(Call("test", {"tests": f"{TEST_NUMBERS} tests/test_words.py::test_initials"}))
    none = render(Call("test", {"tests": f"{TEST_NUMBERS}::test_nothing"}))
    answers = seen(run(bench, TEST, some, none))
    assert answers[0].splitlines() == [
        "1 failed",
        f"{MEAN}: AssertionError: assert -3.0 == 3",
        "  tests/test_numbers.py:17 in test_mean",
    ]
    assert answers[1].splitlines()[0] == "1 failed, 12 passed"
    assert answers[2] == "1 failed"


def test_test_without_known_tests_asks_for_names(bench: Bench) -> None:
    answers = seen(run(bench, TEST, render(Call("test", {"tests": "tests/test_words.py"})), visible=False))
    assert answers[0] == "error: the failing tests are not known; name tests or files"
    assert answers[1] == "6 passed"


def test_the_failing_tests_are_not_in_the_tree_of_the_hidden_setting(bench: Bench) -> None:
    answers = seen(run(bench, bash("ls tests; ls -a"), visible=False))
    assert "test_words.py" in answers[0] and "test_numbers.py" not in answers[0]


def test_equal_runs_are_reused_until_something_changes(bench: Bench) -> None:
    row = run(
        bench, TEST, TEST, SEARCH, SEARCH, edit("total -= value", "total += value"), TEST, bash("true"), TEST
    )
    cached = [step.observations[0].cached for step in turns(row)[:-1]]
    assert cached == [False, True, False, True, False, False, False, False]
    assert seen(row)[5] == seen(row)[7] == "1 passed"


def test_localisation_follows_the_repository(bench: Bench) -> None:
    [row] = bench.run(
        [SEARCH, edit("total -= value", "total += value"), SEARCH, SUBMIT],
        [two_bugs()],
        scaffold=KEEP,
        graded=False,
    )
    first, _, second, _ = seen(row)
    assert {line.split()[0] for line in first.splitlines()[:2]} == {
        "tinylib/numbers.py::mean",
        "tinylib/words.py::initials",
    }
    assert second.splitlines()[:2] == ["tinylib/words.py::initials 9", ".|def initials(name):"]


def test_the_bug_of_one_parameter_is_localised_among_the_tests_of_a_large_file(bench: Bench) -> None:
    scaffold = ScaffoldConfig(localize_tests=2)
    [row] = bench.run([SEARCH, SUBMIT], [bug_of_a_parameter()], scaffold=scaffold, graded=False)
    listed = seen(row)[0].splitlines()
    assert listed[0] == "tinylib/numbers.py::clamp 9" and "9|        return high" in listed


def test_when_all_tests_pass_there_is_nothing_to_localise(bench: Bench) -> None:
    row = run(bench, edit("total -= value", "total += value"), SEARCH)
    assert seen(row)[1] == "no test named by the task fails now; give a query"
