"""Where code comes from, and what it does when nobody has touched it."""

from enum import StrEnum
from typing import Literal

from components.records.base import Record


class TestStatus(StrEnum):
    """Outcome of one test. `missing`: asked for and not reported."""

    __test__ = False  # not a class of tests, whatever its name tells pytest
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    MISSING = "missing"


class Licence(Record):
    """An SPDX expression and the bytes that prove it. `NOASSERTION` when nothing does."""

    spdx: str
    evidence: str
    """What was read, e.g. `LICENSE` or `PKG-INFO: License-Expression`."""
    evidence_sha256: str


class Source(Record):
    """A pinned place to get a repository from."""

    kind: Literal["sdist", "git", "path"]
    location: str
    """PyPI project name, git URL, or local folder."""
    pin: str
    """sha256 of the sdist, commit of the git repository, or sha256 of the tree of a path."""


class Repository(Record):
    """One version of one repository."""

    id: str
    """`name@version`, e.g. `boltons@26.2.0`."""
    name: str
    version: str
    source: Source
    licence: Licence
    tree_sha256: str
    """Digest of the pristine working tree."""
    environment: str
    """Digest of its `Environment`."""
    never_train: bool = False
    """True: its tasks may only ever be held out."""


class Recipe(Record):
    """How to install and test a repository."""

    install: tuple[str, ...] = ()
    """Requirements for pip beside the repository's test tool, e.g. `attrs==25.3.0`."""
    test_paths: tuple[str, ...] = ("tests",)
    """Folders or files that hold its tests; a submission may not change them."""
    pytest_args: tuple[str, ...] = ()
    """Passed to pytest in every run, e.g. `--deselect=...`."""
    source_paths: tuple[str, ...] = ()
    """Folders that hold the code to change, e.g. `boltons`."""


class Environment(Record):
    """What a repository's tests run in; built once per repository version."""

    digest: str
    repository_id: str
    recipe: Recipe
    python: str
    lock: tuple[str, ...]
    """`name==version` of every installed distribution, sorted."""


class BaselineTest(Record):
    """One test of the untouched repository over all baseline runs."""

    repository_id: str
    test: str
    """pytest node id."""
    statuses: tuple[TestStatus, ...]
    """One per run, in the order of the runs."""
    stable: bool
    """Passed in every run. Only stable tests ever count."""


class Coverage(Record):
    """The lines of one file that one test executes (test -> file -> lines)."""

    repository_id: str
    test: str
    """pytest node id; empty for what runs while modules are imported, on behalf of no test."""
    path: str
    lines: tuple[int, ...]
