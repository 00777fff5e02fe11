"""The validation stage: candidates in waves, until there are enough tasks of every split."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from components.records.base import Record
from components.records.errors import InputError
from components.records.repository import BaselineTest, Coverage, Environment, Repository
from components.records.task import Candidate, Rejection, Split, Task
from components.sandbox import make_sandbox
from components.sandbox.base import Sandbox
from components.sandbox.config import SandboxConfig
from components.sandbox.trees import tree_for
from components.store import Dataset, Output, reject
from components.validation.config import ValidationConfig
from components.validation.order import batches, in_turn, wave
from components.validation.prove import Prover
from components.validation.split import check_split
from components.validation.subject import Subject

TABLES: dict[str, type[Record]] = {"tasks": Task, "rejected": Rejection}
SPLITS: tuple[Split, ...] = ("heldout_repo", "heldout", "train")


Batch = tuple[Candidate, ...]
"""Candidates of one repository that share interpreters; named by the first."""


class ValidationStage:
    """Keeps what is proven a bug, and says of everything else why not."""

    name = "validation"
    version = 2

    def run(self, config: ValidationConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Inputs `repositories` and `candidates`; tables `tasks` and `rejected`."""
        subjects = read_subjects(inputs["repositories"], out, config)
        queues = self._queues(config, subjects, inputs["candidates"])
        total = sum(map(len, queues.values()))
        number = 0
        while items := self._next(config, queues, Counter(task.split for task in out.rows("tasks", Task))):
            number += 1
            out.shards(
                TABLES,
                items,
                partial(prove_batch, config, subjects),
                key=lambda batch: batch[0].id,
                shard_size=1,
                workers=config.workers,
                desc=f"validation, wave {number}",
            )
        tasks = out.rows("tasks", Task)
        check_split(tasks, frozenset(s.repository.id for s in subjects.values() if s.repository.never_train))
        out.cost(candidates=total, not_tried=sum(map(len, queues.values())))

    def _queues(
        self, config: ValidationConfig, subjects: Mapping[str, Subject], dataset: Dataset
    ) -> dict[Split, list[Candidate]]:
        """Candidates by split, functions taking turns, in an order that depends on their ids alone."""
        queues: dict[Split, list[Candidate]] = {split: [] for split in SPLITS}
        for candidate in dataset.rows("candidates", Candidate):
            if candidate.repository_id not in subjects:
                raise InputError(f"{candidate.id}: its repository is not among the repositories")
            queues[subjects[candidate.repository_id].side(candidate, config)].append(candidate)
        return {
            split: in_turn(queue, config.seed, config.max_per_function)[: config.max_candidates]
            for split, queue in queues.items()
        }

    def _next(
        self, config: ValidationConfig, queues: dict[Split, list[Candidate]], kept: Counter[Split]
    ) -> list[Batch]:
        """Take the next wave off the queues: what each split still lacks, over the yield seen so far."""
        chosen: list[Candidate] = []
        for split, queue in queues.items():
            count = wave(config.targets.of(split) - kept[split], config.wave)
            chosen += queue[:count]
            del queue[:count]
        return batches(chosen, config.batch)


def read_subjects(dataset: Dataset, out: Output, config: ValidationConfig) -> dict[str, Subject]:
    """Every repository, with its trees and the time its tests take here."""
    environments = {row.digest: row for row in dataset.rows("environments", Environment)}
    baseline, coverage = dataset.rows("baseline", BaselineTest), dataset.rows("coverage", Coverage)
    sandbox = make_sandbox(config.sandbox)
    subjects = {}
    for row in dataset.rows("repositories", Repository):
        environment = environments[row.environment]
        tree = tree_for(out.workspace, row.id, row.tree_sha256, row.environment)
        subject = Subject.build(row, environment, tree, baseline, coverage)
        subjects[row.id] = replace(subject.timed(sandbox, config), grades=out.workspace.cache / "grades")
    return subjects


def prove_batch(
    config: ValidationConfig, subjects: Mapping[str, Subject], batch: Batch
) -> dict[str, Sequence[Record]]:
    """The rows of one batch; runs in a worker process, which parses each file of a subject once."""
    subject = subjects[batch[0].repository_id]
    outcomes = Prover(subject, config, _sandbox(config.sandbox)).prove(batch)
    rejected = [row for row in outcomes if isinstance(row, Rejection)]
    for row in rejected:
        reject(row.reason)
    return {"tasks": [row for row in outcomes if isinstance(row, Task)], "rejected": rejected}


@cache
def _sandbox(config: SandboxConfig) -> Sandbox:
    return make_sandbox(config)
