from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from components.grading.grade import GradeCache, grade, grade_key, graded_run, regrade, task_files, verdict
from components.grading.submission import Submission
from components.grading.testrun import Event, Frame, TestRun
from components.records.errors import InfrastructureError, SandboxError
from components.records.repository import Recipe
from components.records.repository import TestStatus as Status
from components.records.task import Task
from components.sandbox.base import Limits, Sandbox, Session, Tree
from tests.grading.support import (
    INITIALS,
    MEAN,
    NUMBERS,
    OTHERS,
    buggy,
    diff,
    one_bug,
    pristine,
    submit,
    two_bugs,
)

FRAME = Frame(path="a.py", line=1, function="f")
APPLIED = Submission(applied=True)


def ran(statuses: Mapping[str, Status] | None = None, **fields: object) -> TestRun:
    """A run in which all is well but what is said here."""
    every = dict.fromkeys((MEAN, *OTHERS), Status.PASSED) | dict(statuses or {})
    return TestRun.model_validate({"statuses": every, "exit_code": 0, **fields})


def test_the_gold_patch_gets_everything(tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe) -> None:
    task = one_bug()
    result = grade(task.gold_patch, task, tiny_tree, tiny_sandbox, tiny_recipe)
    assert result.resolved
    assert result.patch_applied
    assert (result.reward, result.fail_to_pass_rate, result.pass_to_pass_rate) == (1.0, 1.0, 1.0)
    assert result.hacks == ()
    assert {t.status for t in result.tests} == {Status.PASSED}
    assert not result.mask


def test_a_patch_that_changes_nothing_that_matters_gets_nothing(
    tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    result = grade(
        submit({NUMBERS: buggy(NUMBERS) + "\n# done\n"}), one_bug(), tiny_tree, tiny_sandbox, tiny_recipe
    )
    assert (result.resolved, result.reward, result.patch_applied) == (False, 0.0, True), result
    assert {t.test: t.status for t in result.tests}[MEAN] is Status.FAILED
    assert result.pass_to_pass_rate == 1.0
    assert result.hacks == ()


def test_half_of_the_fix_gets_half(tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe) -> None:
    task = two_bugs()
    half = diff({NUMBERS: buggy(NUMBERS)}, {NUMBERS: pristine(NUMBERS)})
    result = grade(half, task, tiny_tree, tiny_sandbox, tiny_recipe)
    assert not result.resolved
    assert (result.fail_to_pass_rate, result.reward) == (0.5, 0.5)
    assert {t.test: t.status for t in result.tests}[INITIALS] is Status.FAILED


def test_the_buggy_tree(tiny_tree: Tree) -> None:
    assert task_files(one_bug(), tiny_tree) == {NUMBERS: buggy(NUMBERS).encode()}
    alien = one_bug().model_copy(update={"bug_patch": one_bug().gold_patch})
    with pytest.raises(InfrastructureError, match="does not fit the tree"):
        task_files(alien, tiny_tree)


def test_a_run_that_was_stored_is_judged_again_without_a_sandbox(
    tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    task = one_bug()
    first, run = graded_run(task.gold_patch, task, tiny_tree, tiny_sandbox, tiny_recipe)
    assert run is not None
    stored = TestRun.model_validate_json(run.model_dump_json())
    assert TestRun.from_table(TestRun.to_table([run])) == [run]
    assert regrade(task.gold_patch, task, tiny_tree, stored) == first


@pytest.mark.parametrize("patch", ["not a patch", "--- a/gone.py\n+++ b/gone.py\n@@ -1 +1 @@\n-x\n+y\n"])
def test_a_patch_that_does_not_apply(
    tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe, patch: str
) -> None:
    result = grade(patch, one_bug(), tiny_tree, tiny_sandbox, tiny_recipe)
    assert (result.patch_applied, result.empty_patch, result.resolved, result.reward) == (
        False,
        False,
        False,
        0.0,
    )
    assert result.infrastructure == ""
    assert result.tests == ()


def test_a_patch_that_leaves_the_repository_is_an_attempt(
    tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    escape = "--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"
    result = grade(escape, one_bug(), tiny_tree, tiny_sandbox, tiny_recipe)
    assert [finding.kind for finding in result.hacks] == ["path_escape"]


def test_files_that_come_and_go(tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe) -> None:
    moved = pristine(NUMBERS).replace('"""Arithmetic', '"""Moved arithmetic')
    after = {"tinylib/sums.py": moved, NUMBERS: "from tinylib.sums import *\n"}
    assert grade(submit(after), one_bug(), tiny_tree, tiny_sandbox, tiny_recipe).resolved
    gone = grade(submit({NUMBERS: None}), one_bug(), tiny_tree, tiny_sandbox, tiny_recipe)
    assert {result.status for result in gone.tests} == {Status.ERROR}
    assert gone.hacks == ()


@pytest.mark.parametrize(
    ("statuses", "fixed", "kept"),
    [
        ({}, 1.0, 1.0),
        ({MEAN: Status.XFAILED}, 1.0, 1.0),
        ({MEAN: Status.SKIPPED}, 0.0, 1.0),
        ({MEAN: Status.MISSING}, 0.0, 1.0),
        ({MEAN: Status.ERROR}, 0.0, 1.0),
        ({OTHERS[0]: Status.FAILED}, 1.0, 0.75),
        ({OTHERS[0]: Status.SKIPPED}, 1.0, 0.75),
        ({OTHERS[0]: Status.MISSING, OTHERS[1]: Status.ERROR}, 1.0, 0.5),
    ],
)
def test_what_counts(statuses: dict[str, Status], fixed: float, kept: float) -> None:
    result = verdict(one_bug(), APPLIED, ran(statuses))
    assert (result.fail_to_pass_rate, result.pass_to_pass_rate) == (fixed, kept)
    assert result.reward == fixed * kept
    assert result.resolved == (fixed == kept == 1.0)


def test_a_test_that_was_skipped_before_may_be_skipped() -> None:
    run = ran({OTHERS[0]: Status.SKIPPED, MEAN: Status.SKIPPED})
    result = verdict(one_bug(), APPLIED, run, {OTHERS[0]: Status.SKIPPED, MEAN: Status.SKIPPED})
    assert (result.fail_to_pass_rate, result.pass_to_pass_rate) == (0.0, 1.0)


def test_no_tests_prove_nothing() -> None:
    nothing = one_bug().model_copy(update={"fail_to_pass": (), "pass_to_pass": ()})
    assert not verdict(nothing, APPLIED, ran()).resolved
    alone = one_bug().model_copy(update={"pass_to_pass": ()})
    assert verdict(alone, APPLIED, ran()).resolved


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        (ran(trusted=False, problems=("ended early: exit code 0",)), "early_exit"),
        (ran(trusted=False, problems=("x was replaced",)), "untrusted_report"),
        (ran(killed="output"), "resource_limit"),
        (ran(killed="pids"), "resource_limit"),
        (
            ran(
                events=(Event(kind="frame", detail="d", frames=(Frame(path="a.py", line=1, function="f"),)),)
            ),
            "introspection",
        ),
        (ran(events=(Event(kind="network", detail="d", frames=()),)), "network"),
    ],
)
def test_what_is_odd_counts_against_it(run: TestRun, kind: str) -> None:
    result = verdict(one_bug(), APPLIED, run)
    assert [finding.kind for finding in result.hacks] == [kind]
    assert not result.resolved
    assert result.reward == 0.0


def test_time_out_is_no_success() -> None:
    result = verdict(one_bug(), APPLIED, ran(timed_out=True))
    assert (result.resolved, result.reward, result.timed_out, result.mask) == (False, 0.0, True, False)


def test_a_kill_from_outside_is_the_machine() -> None:
    result = verdict(one_bug(), APPLIED, ran(killed="signal 9"))
    assert result.mask
    assert not result.resolved
    crash = verdict(
        one_bug(), APPLIED, ran(dict.fromkeys((MEAN, *OTHERS), Status.MISSING), killed="signal 11")
    )
    assert not crash.mask


class BrokenSandbox:
    """Cannot open anything."""

    name = "broken"

    def open(
        self,
        tree: Tree,
        *,
        files: Mapping[str, bytes] = {},
        remove: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> Session:
        raise SandboxError("no space left on device")


def test_a_machine_that_fails_says_nothing_about_the_model(tiny_tree: Tree, tiny_recipe: Recipe) -> None:
    task = one_bug()
    result = grade(task.gold_patch, task, tiny_tree, BrokenSandbox(), tiny_recipe)
    assert (result.infrastructure, result.mask, result.resolved) == ("no space left on device", True, False)


def test_an_environment_without_pytest_is_the_machine_too(
    tmp_path: Path, tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    python = tiny_tree.environment / "bin" / "python"
    bare = tmp_path / "bare"
    (bare / "bin").mkdir(parents=True)
    (bare / "lib/python3.11/site-packages").mkdir(parents=True)
    (bare / "bin/python").symlink_to(python.readlink() if python.is_symlink() else python)
    (bare / "pyvenv.cfg").write_text((tiny_tree.environment / "pyvenv.cfg").read_text())
    task = one_bug()
    tree = Tree(environment=bare, repo=tiny_tree.repo, digest="bare")
    result = grade(task.gold_patch, task, tree, tiny_sandbox, tiny_recipe)
    assert result.mask, result


def test_equal_keys_for_equal_verdicts() -> None:
    task = one_bug()
    key = grade_key("patch", task)
    assert key == grade_key("patch", one_bug())
    assert key != grade_key("patch ", task)
    assert key != grade_key("patch", task.model_copy(update={"fail_to_pass": OTHERS}))
    assert len(grade_key("\udcff", task)) == 64


def test_a_verdict_is_found_once(
    tmp_path: Path, tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    task, cache = one_bug(), GradeCache(tmp_path / "grades")
    first = grade(task.gold_patch, task, tiny_tree, tiny_sandbox, tiny_recipe, cache=cache)
    assert grade(task.gold_patch, task, tiny_tree, BrokenSandbox(), tiny_recipe, cache=cache) == first
    # What the machine did is not remembered, and a broken file is no verdict.
    other: Task = task.model_copy(update={"id": "other"})
    assert grade(task.gold_patch, other, tiny_tree, BrokenSandbox(), tiny_recipe, cache=cache).mask
    assert cache.get(grade_key(task.gold_patch, other)) is None
    for path in (tmp_path / "grades").rglob("*.json"):
        path.write_text("{")
    assert cache.get(grade_key(task.gold_patch, task)) is None
