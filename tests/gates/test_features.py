import pytest

from components.gates.features import Feature, changed_files, features, statement_leaks
from components.records.trajectory import Step, Trajectory
from tests.chain import grade, repository, task, trajectory

REPO = repository()
TASK = task(1, REPO)


def feature(row: Trajectory, overlaps: dict[str, tuple[str, ...]] | None = None) -> Feature:
    (made,) = features(
        [row], {TASK.id: TASK}, {REPO.id: REPO}, allowed_licences={"BSD-3-Clause"}, overlaps=overlaps or {}
    )
    return made


def test_a_good_trajectory() -> None:
    made = feature(trajectory(TASK))
    assert made.task_known and made.repository_known and made.licence_permissive and made.licence_evidence
    assert made.resolved and made.graded and made.ends_with_submit and made.demonstrator
    assert (made.split, made.teacher, made.licence) == ("train", "oracle", "BSD-3-Clause")
    assert (made.n_steps, made.n_rewound, made.n_tool_calls, made.n_failed_calls) == (4, 1, 4, 1)
    assert (made.patch_files, made.test_files_touched, made.hacks) == (1, 0, 0)
    assert not made.statement_leak and made.heldout_overlap == "" and made.n_tokens > 1


def test_tokens_are_the_longest_context_that_the_model_reports() -> None:
    steps = trajectory(TASK).steps
    counted = [step.model_copy(update={"prompt_tokens": 10 * step.index}) for step in steps]
    assert feature(trajectory(TASK, steps=tuple(counted))).n_tokens == 60


def test_unknown_parents_fail_every_column_that_rests_on_them() -> None:
    stranger = trajectory(task(2, repository("stranger")))
    made = feature(stranger)
    assert not (made.task_known or made.repository_known or made.licence_permissive or made.licence_evidence)
    assert made.never_train and made.statement_leak and made.split == "" and made.licence == "NOASSERTION"


def test_a_task_of_another_repository_is_not_known() -> None:
    assert not feature(trajectory(TASK, repository_id="toolz@1.2.0")).task_known


def test_a_grade_of_another_task_or_of_a_broken_machine_does_not_resolve() -> None:
    assert not feature(trajectory(TASK, grade=None)).graded
    assert not feature(trajectory(TASK, grade=grade(task(2, REPO)))).graded
    broken = feature(trajectory(TASK, grade=grade(TASK, infrastructure="disk full")))
    assert broken.infrastructure and not broken.resolved


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "pkg/tests/data.json", "pkg/test_x.py", "conftest.py", "spec/x.py"]
)
def test_touched_tests_are_counted(path: str) -> None:
    patch = f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
    guarded = TASK.model_copy(update={"protected_paths": ("spec/**",)})
    (made,) = features(
        [trajectory(TASK, patch=patch)], {TASK.id: guarded}, {}, allowed_licences=(), overlaps={}
    )
    assert made.test_files_touched == 1


def test_a_patch_that_is_no_diff_is_named_so() -> None:
    assert changed_files("I fixed it") is None
    assert changed_files("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n") is None
    assert changed_files("") == ()
    assert not feature(trajectory(TASK, patch="I fixed it")).patch_parses


def test_new_and_deleted_files_are_named_once() -> None:
    new = "--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n"
    gone = "--- a/y.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert changed_files(new + gone) == ("x.py", "y.py")


def test_a_statement_that_quotes_the_fix_leaks_and_one_that_quotes_the_bug_does_not() -> None:
    fix, bug = "return limit_1 < value", "return limit_1 <= value"
    assert statement_leaks(TASK.model_copy(update={"problem_statement": f"should be `{fix}`"}))
    assert statement_leaks(TASK.model_copy(update={"problem_statement_hidden": f"should be `{fix}`"}))
    assert not statement_leaks(TASK.model_copy(update={"problem_statement": f"in `{bug}`"}))


def test_a_bug_line_that_holds_the_fixed_line_is_no_leak() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-    total = first + second + 1\n+    total = first + second\n"
    quoted = {"gold_patch": patch, "problem_statement": "x:1: total = first + second + 1"}
    assert not statement_leaks(TASK.model_copy(update=quoted))


def test_the_text_of_a_row_leaves_out_what_was_taken_back() -> None:
    row = trajectory(TASK)
    without = row.model_copy(update={"steps": tuple(step for step in row.steps if not step.rewound)})
    assert feature(row).text_sha256 == feature(without).text_sha256
    told = Step(index=9, source="agent", message="one more thing")
    more = row.model_copy(update={"steps": (*row.steps, told)})
    assert feature(row).text_sha256 != feature(more).text_sha256


def test_overlap_is_joined_by_task() -> None:
    assert feature(trajectory(TASK), {TASK.id: ("patch of x", "statement of y")}).heldout_overlap == (
        "patch of x; statement of y"
    )
