from components.gates.config import OverlapConfig
from components.gates.overlap import contaminated, patch_body, split_violations
from tests.chain import repository, task

BOLTONS = repository()
OTHER = repository("more-itertools", "11.2.1", "MIT", never_train=True)


def test_a_clean_split_has_no_violation() -> None:
    tasks = [task(1, BOLTONS), task(2, BOLTONS, "heldout"), task(3, OTHER, "heldout_repo")]
    assert split_violations(tasks, [OTHER.id]) == {}


def test_a_function_on_both_sides_is_named_whatever_the_version() -> None:
    old = repository(version="25.0.0")
    train, held = task(1, old), task(1, BOLTONS, "heldout")
    assert split_violations([train, held], []) == {train.id: ("function boltons/module_1.py:function_1",)}


def test_the_same_task_on_both_sides_is_named() -> None:
    tasks = [task(1, BOLTONS), task(1, BOLTONS, "heldout")]
    assert "task id" in split_violations(tasks, [])[tasks[0].id]


def test_a_repository_never_trained_on_may_not_train() -> None:
    trained = task(1, OTHER)
    assert split_violations([trained], [OTHER.id]) == {trained.id: ("repository more-itertools",)}
    assert split_violations([trained, task(2, OTHER, "heldout_repo")], []) != {}


def test_patch_body_ignores_where_it_applies() -> None:
    one = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f\n-a = 1\n+a = 2\n b\n"
    two = "--- a/y.py\n+++ b/y.py\n@@ -9,2 +9,2 @@ def g\n-a = 1\n+a = 2\n b\n"
    assert patch_body(one) == patch_body(two) == "-a = 1\n+a = 2\n b"


def test_copied_code_and_equal_statements_are_contamination() -> None:
    held = task(1, BOLTONS, "heldout")
    copied = task(2, BOLTONS, gold_patch=held.gold_patch.replace("module_1", "module_2"))
    told = task(3, BOLTONS, problem_statement=held.problem_statement + "\n")
    clean = task(4, BOLTONS)
    found = contaminated([held, copied, told, clean], OverlapConfig())
    assert found == {copied.id: (f"patch of {held.id}",), told.id: (f"statement of {held.id}",)}


def test_nothing_held_out_is_nothing_to_overlap_with() -> None:
    assert contaminated([task(1, BOLTONS)], OverlapConfig()) == {}
