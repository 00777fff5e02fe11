"""Real proofs on the tiny repository, in real sandboxes."""

import pytest

from components.grading.grade import grade
from components.records.errors import InputError
from components.records.task import Candidate, Rejection, RejectReason, Task
from components.sandbox.base import Sandbox
from components.validation.config import ValidationConfig
from components.validation.gate import Gate
from components.validation.prove import Prover
from components.validation.refusal import Refused
from components.validation.select import CoverageMap
from components.validation.subject import Subject
from tests.validation.conftest import MakeCandidate

NUMBERS, WORDS = "tinylib/numbers.py", "tinylib/words.py"


def only(prover: Prover, candidate: Candidate) -> Task | Rejection:
    return prover.prove([candidate])[0]


def refused(prover: Prover, candidate: Candidate) -> Rejection:
    outcome = only(prover, candidate)
    assert isinstance(outcome, Rejection)
    assert outcome.candidate_id == candidate.id
    return outcome


@pytest.fixture(scope="module")
def task(prover: Prover, make: MakeCandidate) -> Task:
    outcome = only(prover, make(NUMBERS, "if value < low:", "if value > low:"))
    assert isinstance(outcome, Task)
    return outcome


def test_a_bug_becomes_a_task(task: Task, subject: Subject) -> None:
    assert "tests/test_numbers.py::test_clamp[-1-0]" in task.fail_to_pass
    assert "tests/test_words.py::test_shorten_marks_the_cut" in task.fail_to_pass  # through another module
    assert set(task.pass_to_pass) >= {
        "tests/test_numbers.py::test_clamp[0-0]",
        "tests/test_numbers.py::test_mean",
    }
    assert not set(task.fail_to_pass) & set(task.pass_to_pass)
    assert task.test_files == ("tests/test_numbers.py", "tests/test_words.py")
    assert (task.function, task.line, task.split) == (
        "clamp",
        8,
        subject.side(_as_candidate(task), ValidationConfig()),
    )
    assert 0 < task.difficulty < 1
    assert task.parents == (task.id,)


def _as_candidate(task: Task) -> Candidate:
    return Candidate(
        id=task.id, repository_id=task.repository_id, strategy=task.strategy, path=task.path,
        function=task.function, line=task.line, start=0, end=0, replacement="", bug_patch=task.bug_patch,
    )  # fmt: skip


def test_statements_say_what_was_seen_and_not_how_to_fix_it(task: Task) -> None:
    assert (
        task.fail_to_pass[0].partition("::")[2] in task.problem_statement or "test_" in task.problem_statement
    )
    assert "AssertionError" in task.problem_statement
    assert "tinylib/numbers.py:4 in clamp" in task.problem_statement
    assert "`tinylib.numbers.clamp` gives a wrong result" in task.problem_statement_hidden
    assert "test_" not in task.problem_statement_hidden
    for statement in (task.problem_statement, task.problem_statement_hidden):
        assert "value < low" not in statement and "value > low" not in statement


def test_the_fix_scores_one_and_nothing_scores_zero(
    task: Task, subject: Subject, tiny_sandbox: Sandbox
) -> None:
    arguments = task, subject.tree, tiny_sandbox, subject.recipe
    assert grade(task.gold_patch, *arguments).reward == 1
    assert grade("", *arguments).reward == 0


def test_a_change_that_no_test_notices(prover: Prover, make: MakeCandidate) -> None:
    outcome = refused(prover, make(NUMBERS, "total += value", "total += value + 0"))
    assert outcome.reason == RejectReason.NO_FAIL_TO_PASS
    assert "covering tests, none fails" in outcome.detail


def test_a_change_that_no_test_executes_is_refused_without_a_run(
    make: MakeCandidate, subject: Subject, config: ValidationConfig
) -> None:
    nowhere = CoverageMap(subject.tests.tests, {})
    blind = Subject(subject.repository, subject.recipe, subject.tree, nowhere)

    class Closed:
        name = "closed"

        def open(self, *args: object, **kwargs: object) -> None:
            raise AssertionError("nothing may run")

    prover = Prover(blind, config, Closed())  # type: ignore[arg-type]
    outcome = refused(prover, make(NUMBERS, "count += 1", "count += 2"))
    assert (outcome.reason, outcome.detail) == (
        RejectReason.NO_COVERING_TEST,
        "no stable test executes tinylib/numbers.py:21",
    )


def test_what_two_runs_disagree_about_is_flaky(prover: Prover, make: MakeCandidate) -> None:
    # Fails in the first process and leaves a mark, so passes in the second.
    code = 'return low if __import__("os").path.exists("/tmp/mark") or open("/tmp/mark", "w").close() else 7'
    outcome = refused(prover, make(NUMBERS, "return low", code))
    assert outcome.reason == RejectReason.FLAKY and "test_clamp[-1-0]" in outcome.detail


def test_what_fails_in_the_warm_interpreter_only_is_no_bug(prover: Prover, make: MakeCandidate) -> None:
    code = 'return low if __import__("sys").dont_write_bytecode else 7'
    outcome = refused(prover, make(NUMBERS, "return low", code))
    assert outcome.reason == RejectReason.NOOP_PASSES


@pytest.mark.parametrize(
    ("code", "detail"),
    [
        ('__import__("os").abort()', "ended by signal 6"),
        ('__import__("os").kill(__import__("os").getppid(), 9)', "took down whatever ran it"),
    ],
)
def test_crashes_are_the_mutants_own(prover: Prover, make: MakeCandidate, code: str, detail: str) -> None:
    honest = make(NUMBERS, "best = max(best, current)", "best = min(best, current)")
    outcomes = prover.prove([make(NUMBERS, "return low", code), honest])
    assert isinstance(outcomes[0], Rejection)
    assert (outcomes[0].reason, outcomes[0].detail) == (RejectReason.CRASH, detail)
    assert isinstance(outcomes[1], Task)  # its neighbour in the batch does not pay


def test_a_broken_import_finds_its_passing_tests_elsewhere(prover: Prover, make: MakeCandidate) -> None:
    outcome = only(prover, make(WORDS, 'width=20, mark="..."', 'width=20, mark="..."[missing]'))
    assert isinstance(outcome, Task)
    assert "breaks_import" in outcome.quality
    assert all(test.startswith("tests/test_words.py") for test in outcome.fail_to_pass)
    assert len(outcome.fail_to_pass) == 6
    assert all(test.startswith("tests/test_numbers.py") for test in outcome.pass_to_pass)
    assert "NameError: name 'missing' is not defined" in outcome.problem_statement


def test_no_test_passes(prover: Prover, make: MakeCandidate) -> None:
    outcome = refused(prover, make(NUMBERS, "low=0, high=10", "low=0, high=missing"))
    assert outcome.reason == RejectReason.NO_PASS_TO_PASS


def test_full_suite_gives_the_same_task(
    make: MakeCandidate, subject: Subject, config: ValidationConfig, tiny_sandbox: Sandbox
) -> None:
    candidate = make(NUMBERS, "current += 1", "current -= 1")
    tasks = [
        only(Prover(subject, config.model_copy(update={"confirm": confirm}), tiny_sandbox), candidate)
        for confirm in ("none", "all")
    ]
    assert isinstance(tasks[0], Task) and isinstance(tasks[1], Task)
    assert "full_suite" in tasks[1].quality
    assert tasks[0] == tasks[1].model_copy(update={"quality": tasks[0].quality})


def test_pass_to_pass_is_bounded_and_covering_tests_come_first(
    make: MakeCandidate, subject: Subject, config: ValidationConfig, tiny_sandbox: Sandbox
) -> None:
    small = Prover(subject, config.model_copy(update={"max_pass_to_pass": 2}), tiny_sandbox)
    outcome = only(small, make(NUMBERS, "return high", "return low"))
    assert isinstance(outcome, Task)
    assert len(outcome.pass_to_pass) == 2
    covering = [test for test in outcome.pass_to_pass if "clamp" in test or "shorten" in test]
    assert covering == list(outcome.pass_to_pass)


def test_a_wrong_fix_is_refused(
    task: Task, subject: Subject, config: ValidationConfig, tiny_sandbox: Sandbox
) -> None:
    wrong = task.gold_patch.replace("+    if value < low:", "+    if value == low:")
    with pytest.raises(Refused, match=r"gold_fails: .*test_clamp\[-1-0\] failed"):
        Gate(subject, config, tiny_sandbox).gold(task.model_copy(update={"gold_patch": wrong}))


def test_a_patch_that_does_not_fit_is_an_error_not_a_verdict(prover: Prover, make: MakeCandidate) -> None:
    candidate = make(NUMBERS, "return high", "return low")
    broken = candidate.model_copy(
        update={"bug_patch": candidate.bug_patch.replace("return high", "return h")}
    )
    with pytest.raises(InputError, match="is not what the patch says"):
        prover.prove([broken])
