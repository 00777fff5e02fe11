import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.records.task import Split, Task
from components.validation.split import check_split, split_of, unit

NAMES = st.text("abcdefgh_.", min_size=1, max_size=12)


def make_task(path: str, function: str, split: Split, repository: str = "tiny@1") -> Task:
    return Task(
        id=f"{repository}/x/{path}{function}", repository_id=repository, environment="", strategy="x",
        path=path, function=function, line=1, bug_patch="", gold_patch="", fail_to_pass=("t",),
        pass_to_pass=("u",), test_files=(), protected_paths=(), problem_statement="",
        problem_statement_hidden="", difficulty=0,
        quality=(), split=split, parents=(),
    )  # fmt: skip


@given(NAMES, NAMES, NAMES, st.integers(0, 5), st.floats(0, 0.99))
def test_split_depends_on_function_only_and_never_train_wins(
    repository: str, path: str, function: str, seed: int, fraction: float
) -> None:
    first = split_of(repository, path, function, never_train=False, seed=seed, heldout_fraction=fraction)
    again = split_of(repository, path, function, never_train=False, seed=seed, heldout_fraction=fraction)
    assert first == again and first in ("train", "heldout")
    assert (
        split_of(repository, path, function, never_train=True, seed=seed, heldout_fraction=fraction)
        == "heldout_repo"
    )


@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=30), st.integers(0, 3))
def test_every_function_lies_on_one_side(sites: list[tuple[str, str]], seed: int) -> None:
    tasks = [
        make_task(
            path,
            function,
            split_of("tiny", path, function, never_train=False, seed=seed, heldout_fraction=0.5),
        )
        for path, function in sites
    ]
    check_split(tasks)


@given(NAMES, NAMES, st.floats(0, 0.5), st.floats(0.5, 0.99))
def test_a_larger_share_only_adds_functions(path: str, function: str, small: float, large: float) -> None:
    if split_of("r", path, function, never_train=False, seed=0, heldout_fraction=small) == "heldout":
        assert split_of("r", path, function, never_train=False, seed=0, heldout_fraction=large) == "heldout"


def test_share_is_about_right() -> None:
    held = [
        split_of("r", "m.py", f"f{i}", never_train=False, seed=1, heldout_fraction=0.2) for i in range(2000)
    ].count("heldout")
    assert 320 < held < 480


def test_parts_are_not_run_together() -> None:
    assert unit("ab", "c") != unit("a", "bc")


def test_breaches_raise() -> None:
    with pytest.raises(AssertionError, match="both sides"):
        check_split([make_task("m.py", "f", "train"), make_task("m.py", "f", "heldout")])
    with pytest.raises(AssertionError, match="both sides"):  # another version of the same repository
        check_split([make_task("m.py", "f", "train"), make_task("m.py", "f", "heldout", "tiny@2")])
    with pytest.raises(AssertionError, match="never_train"):
        check_split([make_task("m.py", "f", "train")], frozenset({"tiny@1"}))
    with pytest.raises(AssertionError, match="never_train"):
        check_split([make_task("m.py", "f", "heldout_repo")])
