"""Tasks on the tiny repository, and submissions to them."""

from collections.abc import Mapping
from pathlib import Path

from components.records.task import Task
from components.sandbox.diffs import Change, Content, render
from tests.conftest import TINYLIB

NUMBERS, WORDS = "tinylib/numbers.py", "tinylib/words.py"
TEST_NUMBERS, TEST_WORDS = "tests/test_numbers.py", "tests/test_words.py"
MEAN = f"{TEST_NUMBERS}::test_mean"
CHUNKS = f"{TEST_NUMBERS}::test_chunks"
INITIALS = f"{TEST_WORDS}::test_initials"
OTHERS = (
    f"{TEST_NUMBERS}::test_clamp[-1-0]",
    f"{TEST_NUMBERS}::test_mean_of_nothing",
    CHUNKS,
    f"{TEST_WORDS}::test_count_words",
)

RIGHT, WRONG = "        total += value\n", "        total -= value\n"
RIGHT_WORD, WRONG_WORD = "word[0].upper()", "word[-1].upper()"


def pristine(path: str, folder: Path = TINYLIB) -> str:
    """A file of the tiny repository."""
    return (folder / path).read_text()


def diff(before: Mapping[str, str | None], after: Mapping[str, str | None]) -> str:
    """A patch between two states of some files; None: not there."""
    return render(
        [
            Change(path, _content(before.get(path)), _content(after.get(path)))
            for path in sorted({*before, *after})
        ]
    ).text


def _content(text: str | None) -> Content | None:
    return None if text is None else Content(text.encode())


def one_bug() -> Task:
    """`mean` subtracts; one test fails."""
    return _task({NUMBERS: pristine(NUMBERS).replace(RIGHT, WRONG)}, (MEAN,))


def bug_of_a_parameter() -> Task:
    """`clamp` is wrong for small values; a test fails for one of its parameters."""
    buggy = pristine(NUMBERS).replace("        return low\n", "        return high\n")
    return _task({NUMBERS: buggy}, (f"{TEST_NUMBERS}::test_clamp[-1-0]",))


def two_bugs() -> Task:
    """`mean` and `initials` are wrong; two tests fail."""
    return _task(
        {
            NUMBERS: pristine(NUMBERS).replace(RIGHT, WRONG),
            WORDS: pristine(WORDS).replace(RIGHT_WORD, WRONG_WORD),
        },
        (MEAN, INITIALS),
    )


def three_bugs() -> Task:
    """`mean`, `chunks` and `initials` are wrong; three tests fail."""
    numbers = pristine(NUMBERS).replace(RIGHT, WRONG).replace("range(0, len", "range(1, len")
    words = pristine(WORDS).replace(RIGHT_WORD, WRONG_WORD)
    return _task({NUMBERS: numbers, WORDS: words}, (MEAN, CHUNKS, INITIALS))


def _task(buggy: dict[str, str], fail_to_pass: tuple[str, ...]) -> Task:
    clean = {path: pristine(path) for path in buggy}
    return Task(
        id="tinylib@1.0/procedural.operator/00000000",
        repository_id="tinylib@1.0",
        environment="",
        strategy="procedural.operator",
        path=NUMBERS,
        function="mean",
        line=22,
        bug_patch=diff(clean, buggy),
        gold_patch=diff(buggy, clean),
        fail_to_pass=fail_to_pass,
        pass_to_pass=OTHERS,
        test_files=(TEST_NUMBERS,),
        protected_paths=(),
        problem_statement="mean is wrong",
        problem_statement_hidden="mean is wrong",
        difficulty=0.5,
        quality=(),
        split="train",
        parents=(),
    )


def buggy(path: str) -> str:
    """A file as the agent finds it in `one_bug`."""
    return pristine(path).replace(RIGHT, WRONG)


def submit(after: Mapping[str, str | None]) -> str:
    """A patch against the buggy tree of `one_bug` that sets these files."""
    before = {path: buggy(path) if (TINYLIB / path).is_file() else None for path in after}
    return diff(before, after)
