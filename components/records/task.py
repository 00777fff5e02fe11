"""A bug to be fixed, and the proof that it is one."""

from enum import StrEnum
from typing import Literal

from components.records.base import Record

Split = Literal["train", "heldout", "heldout_repo"]


class Candidate(Record):
    """A proposed bug, before any test has run: one text span replaced by another."""

    id: str
    """`<repository>/<strategy>.<rewriter>/<8 hex>`, as `boltons@26.2.0/procedural.compare_flip/9f3c1a2b`."""
    repository_id: str
    strategy: str
    """`<strategy>.<rewriter>`."""
    path: str
    function: str
    """Qualified name of the innermost function, e.g. `LRU.__getitem__`."""
    line: int
    """First changed line, from 1."""
    start: int
    """Byte offset of the span in the original file."""
    end: int
    replacement: str
    bug_patch: str
    """Unified diff (git style, a/ b/) from the pristine tree to the buggy one."""


class RejectReason(StrEnum):
    """Why a candidate did not become a task."""

    SYNTAX = "syntax"
    EQUIVALENT = "equivalent"
    DUPLICATE = "duplicate"
    NO_COVERING_TEST = "no_covering_test"
    NO_FAIL_TO_PASS = "no_fail_to_pass"
    NO_PASS_TO_PASS = "no_pass_to_pass"
    TIMEOUT = "timeout"
    CRASH = "crash"
    """The interpreter died, or a limit on memory, processes or disk ended it."""
    GOLD_FAILS = "gold_fails"
    NOOP_PASSES = "noop_passes"
    FLAKY = "flaky"
    LEAK = "leak"
    INFRASTRUCTURE = "infrastructure"


class Rejection(Record):
    """A candidate and the reason it was refused."""

    candidate_id: str
    reason: RejectReason
    detail: str


class Task(Record):
    """A validated task."""

    id: str
    repository_id: str
    environment: str
    strategy: str
    path: str
    function: str
    line: int
    bug_patch: str
    gold_patch: str
    """Unified diff from the buggy tree to the pristine one."""
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    test_files: tuple[str, ...]
    """Files that hold the fail-to-pass tests."""
    protected_paths: tuple[str, ...]
    """Glob patterns that a submission may not change; see `components.grading.protect`."""
    problem_statement: str
    """For `tests_visible`: names the failing tests. Never holds a line of the fix or of a test body."""
    problem_statement_hidden: str
    """For the hidden setting: the symptom only."""
    difficulty: float
    """0 (easy) to 1: one minus the share of covering tests that fail."""
    quality: tuple[str, ...]
    split: Split
    parents: tuple[str, ...]
    """The candidate it was made from."""
