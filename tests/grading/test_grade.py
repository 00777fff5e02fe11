from components.grading.grade import grade
from components.records.repository import Recipe, TestStatus
from components.sandbox.base import Sandbox, Tree
from tests.grading.support import (
    INITIALS,
    MEAN,
    NUMBERS,
    buggy,
    diff,
    one_bug,
    pristine,
    submit,
    two_bugs,
)  # fmt: skip


def test_the_gold_patch_gets_everything(tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe) -> None:
    task = one_bug()
    result = grade(task.gold_patch, task, tiny_tree, tiny_sandbox, tiny_recipe)
    assert result.resolved
    assert result.patch_applied
    assert (result.reward, result.fail_to_pass_rate, result.pass_to_pass_rate) == (1.0, 1.0, 1.0)
    assert result.hacks == ()
    assert {t.status for t in result.tests} == {TestStatus.PASSED}
    assert not result.mask


def test_a_patch_that_changes_nothing_that_matters_gets_nothing(
    tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe
) -> None:
    result = grade(
        submit({NUMBERS: buggy(NUMBERS) + "\n# done\n"}), one_bug(), tiny_tree, tiny_sandbox, tiny_recipe
    )
    assert (result.resolved, result.reward, result.patch_applied) == (False, 0.0, True), result
    assert {t.test: t.status for t in result.tests}[MEAN] is TestStatus.FAILED
    assert result.pass_to_pass_rate == 1.0
    assert result.hacks == ()


def test_half_of_the_fix_gets_half(tiny_tree: Tree, tiny_sandbox: Sandbox, tiny_recipe: Recipe) -> None:
    task = two_bugs()
    half = diff({NUMBERS: buggy(NUMBERS)}, {NUMBERS: pristine(NUMBERS)})
    result = grade(half, task, tiny_tree, tiny_sandbox, tiny_recipe)
    assert not result.resolved
    assert (result.fail_to_pass_rate, result.reward) == (0.5, 0.5)
    assert {t.test: t.status for t in result.tests}[INITIALS] is TestStatus.FAILED
