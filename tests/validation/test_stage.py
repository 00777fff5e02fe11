"""The stage on the tiny repository, with candidates of the synthesis stage."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from components.records.task import Candidate, Rejection, Task
from components.store import Dataset, Store, execute
from components.synthesis.config import SynthesisConfig
from components.synthesis.stage import SynthesisStage
from components.validation.config import Targets, ValidationConfig
from components.validation.split import check_split
from components.validation.stage import ValidationStage

CONFIG = ValidationConfig(
    heldout_fraction=0.3,
    targets=Targets(train=3, heldout=2),
    wave=(2, 4),
    batch=4,
    confirm="sample",
    workers=1,
)


@pytest.fixture(scope="module")
def candidates(tiny_dataset: Dataset, tiny_store: Store) -> Dataset:
    config = SynthesisConfig(max_candidates=40, workers=1)
    return execute(SynthesisStage(), config, {"repositories": tiny_dataset}, tiny_store)


@pytest.fixture(scope="module")
def validated(tiny_dataset: Dataset, candidates: Dataset, tiny_store: Store) -> Dataset:
    inputs = {"repositories": tiny_dataset, "candidates": candidates}
    return execute(ValidationStage(), CONFIG, inputs, tiny_store)


def test_every_candidate_that_was_tried_is_accounted_for(validated: Dataset, candidates: Dataset) -> None:
    tasks, rejected = validated.rows("tasks", Task), validated.rows("rejected", Rejection)
    ids = [task.id for task in tasks] + [row.candidate_id for row in rejected]
    assert len(ids) == len(set(ids))
    assert set(ids) <= {row.id for row in candidates.rows("candidates", Candidate)}
    cost = validated.manifest.cost
    assert cost["candidates"] - cost["not_tried"] == len(ids)
    assert sum(validated.manifest.rejected.values()) == len(rejected)
    assert all(row.detail for row in rejected)


def test_waves_end_when_the_targets_are_met(validated: Dataset) -> None:
    tasks = validated.rows("tasks", Task)
    train = sum(task.split == "train" for task in tasks)
    assert 3 <= train <= 3 + 4
    assert 2 <= len(tasks) - train <= 2 + 4
    assert validated.manifest.cost["not_tried"] > 0


def test_a_function_lies_on_one_side(validated: Dataset) -> None:
    tasks = validated.rows("tasks", Task)
    check_split(tasks)
    assert {task.split for task in tasks} == {"train", "heldout"}


def test_workers_and_batches_change_nothing(
    validated: Dataset, tiny_dataset: Dataset, candidates: Dataset, tiny_store: Store
) -> None:
    config = CONFIG.model_copy(update={"workers": 2, "batch": 2})
    inputs = {"repositories": tiny_dataset, "candidates": candidates}
    again = execute(ValidationStage(), config, inputs, tiny_store)
    assert again.manifest.key != validated.manifest.key  # a batch size may matter; here it does not
    key = lambda row: getattr(row, "id", "") or row.candidate_id  # noqa: E731
    for table, record in (("tasks", Task), ("rejected", Rejection)):
        first, second = validated.rows(table, record), again.rows(table, record)
        assert sorted(first, key=key) == sorted(second, key=key)


def test_a_repository_never_trained_on_is_held_out_as_a_whole(
    tmp_path: Path, candidates: Dataset, tiny_dataset: Dataset, tiny_store: Store
) -> None:
    from components.records.repository import BaselineTest, Coverage, Environment, Repository
    from components.store import Output

    class Marked:
        name, version = "repositories", 99

        def run(self, config: Targets, inputs: Mapping[str, Dataset], out: Output) -> None:
            data = inputs["repositories"]
            rows = [
                row.model_copy(update={"never_train": True}) for row in data.rows("repositories", Repository)
            ]
            out.write("repositories", rows, Repository)
            out.write("environments", data.rows("environments", Environment), Environment)
            out.write("baseline", data.rows("baseline", BaselineTest), BaselineTest)
            out.write("coverage", data.rows("coverage", Coverage), Coverage)

    marked = execute(Marked(), Targets(), {"repositories": tiny_dataset}, tiny_store)
    config = CONFIG.model_copy(
        update={"targets": Targets(train=5, heldout=5, heldout_repo=2), "confirm": "none"}
    )
    inputs = {"repositories": marked, "candidates": candidates}
    tasks = execute(ValidationStage(), config, inputs, tiny_store).rows("tasks", Task)
    assert len(tasks) >= 2 and {task.split for task in tasks} == {"heldout_repo"}
