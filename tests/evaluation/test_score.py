"""Scores and SWE-bench's files."""

import json
from pathlib import Path

import pytest

from components.evaluation.predictions import write_predictions
from components.evaluation.score import score
from tests.builders import task, trajectory


def test_a_broken_machine_is_not_the_models_failure() -> None:
    rows = [trajectory(task(name), name == "a") for name in "abc"]
    rows.append(trajectory(task("d"), False, infrastructure="sandbox lost"))
    found = score("m", "heldout", "visible", rows)
    assert (found.attempts, found.resolved, found.infrastructure_errors) == (3, 1, 1)
    assert found.resolved_rate == pytest.approx(1 / 3)
    assert found.low < found.resolved_rate < found.high


def test_pass_at_k_over_attempts() -> None:
    rows = [trajectory(task("a"), attempt == 0, attempt=attempt) for attempt in range(4)]
    found = score("m", "heldout", "visible", rows)
    assert found.pass_at == pytest.approx({"1": 0.25, "2": 0.5, "3": 0.75, "4": 1.0})


def test_nothing_scored_is_zero_with_the_widest_interval() -> None:
    found = score("m", "heldout", "visible", [])
    assert (found.resolved_rate, found.low, found.high) == (0.0, 0.0, 1.0)


def test_swebench_files(tmp_path: Path) -> None:
    rows = [
        trajectory(task("a"), True),
        trajectory(task("b"), False),
        trajectory(task("c"), False, patch=""),
        trajectory(task("d"), False, infrastructure="disk"),
    ]
    write_predictions(tmp_path, "org/m", "run", rows)
    lines = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert [set(line) for line in lines] == [{"instance_id", "model_name_or_path", "model_patch"}] * 4
    report = json.loads((tmp_path / "org__m.run.json").read_text())
    assert report["schema_version"] == 2
    assert (report["total_instances"], report["resolved_instances"], report["unresolved_instances"]) == (
        4,
        1,
        1,
    )
    assert (report["empty_patch_instances"], report["infra_failure_instances"]) == (1, 1)
    one = next(tmp_path.glob("logs/run_evaluation/run/org__m/*__a/report.json"))
    body = json.loads(one.read_text())[rows[0].task_id]
    assert body["resolved"] is True
    assert body["tests_status"]["FAIL_TO_PASS"] == {"success": ["tests/test_core.py::test_f"], "failure": []}
