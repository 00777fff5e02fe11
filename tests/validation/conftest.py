"""The tiny repository as a subject, and candidates made by hand."""

import difflib
import hashlib
from collections.abc import Callable

import pytest

from components.records.repository import BaselineTest, Coverage, Environment, Repository
from components.records.task import Candidate
from components.sandbox.base import Sandbox, Tree
from components.store import Dataset
from components.validation.config import ValidationConfig
from components.validation.prove import Prover
from components.validation.subject import Subject

MakeCandidate = Callable[..., Candidate]


@pytest.fixture(scope="session")
def config() -> ValidationConfig:
    return ValidationConfig(confirm="none")


@pytest.fixture(scope="session")
def subject(
    tiny_dataset: Dataset,
    tiny_repository: Repository,
    tiny_environment: Environment,
    tiny_tree: Tree,
    tiny_sandbox: Sandbox,
    config: ValidationConfig,
) -> Subject:
    baseline = tiny_dataset.rows("baseline", BaselineTest)
    coverage = tiny_dataset.rows("coverage", Coverage)
    built = Subject.build(tiny_repository, tiny_environment, tiny_tree, baseline, coverage)
    return built.timed(tiny_sandbox, config)


@pytest.fixture(scope="session")
def prover(subject: Subject, config: ValidationConfig, tiny_sandbox: Sandbox) -> Prover:
    return Prover(subject, config, tiny_sandbox)


@pytest.fixture(scope="session")
def make(subject: Subject) -> MakeCandidate:
    def make(path: str, old: str, new: str, name: str = "procedural.by_hand") -> Candidate:
        """A candidate that replaces one text by another, which must be there once."""
        before = subject.text(path)
        assert before.count(old) == 1, (old, before.count(old))
        after = before.replace(old, new)
        lines = difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
        )
        start = before.index(old)
        line = before[:start].count("\n") + 1
        digest = hashlib.sha256(f"{path}\0{old}\0{new}".encode()).hexdigest()[:8]
        return Candidate(
            id=f"{subject.repository.id}/{name}/{digest}",
            repository_id=subject.repository.id,
            strategy=name,
            path=path,
            function=subject.source(path).outermost(line),
            line=line,
            start=len(before[:start].encode()),
            end=len(before[: start + len(old)].encode()),
            replacement=new,
            bug_patch=f"diff --git a/{path} b/{path}\n" + "".join(lines),
        )

    return make
