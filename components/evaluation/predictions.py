"""SWE-bench's files: predictions, one report per instance, one report per run (schema 2).

Formats as in SWE-bench 5.0 (`swebench.harness`); attempt numbers above 0 are appended to the model's name.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from components.records.repository import TestStatus
from components.records.trajectory import Grade, Trajectory

_PASSED = {TestStatus.PASSED, TestStatus.XFAILED}


def write_predictions(folder: Path, model: str, run_id: str, trajectories: Sequence[Trajectory]) -> None:
    """Write `predictions.jsonl`, `logs/run_evaluation/...` and `<model>.<run_id>.json` into a folder."""
    label = model.replace("/", "__")
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"instance_id": row.task_id, "model_name_or_path": _name(model, row), "model_patch": row.patch}
        for row in trajectories
    ]
    (folder / "predictions.jsonl").write_text(
        "".join(json.dumps(line, sort_keys=True) + "\n" for line in lines)
    )
    for row in trajectories:
        if row.grade is None:
            continue
        place = (
            folder / "logs" / "run_evaluation" / run_id / _name(label, row) / row.task_id.replace("/", "__")
        )
        place.mkdir(parents=True, exist_ok=True)
        (place / "patch.diff").write_text(row.patch)
        report = {row.task_id: instance_report(row.grade)}
        (place / "report.json").write_text(json.dumps(report, indent=1, sort_keys=True))
    summary = json.dumps(
        run_report([row for row in trajectories if row.attempt == 0]), indent=1, sort_keys=True
    )
    (folder / f"{label}.{run_id}.json").write_text(summary)


def instance_report(grade: Grade) -> dict[str, JsonValue]:
    """The body of a SWE-bench `report.json`."""
    status: dict[str, dict[str, list[JsonValue]]] = {
        name: {"success": [], "failure": []}
        for name in ("FAIL_TO_PASS", "PASS_TO_PASS", "FAIL_TO_FAIL", "PASS_TO_FAIL")
    }
    for test in grade.tests:
        outcome = "success" if test.status in _PASSED else "failure"
        status[test.kind.upper()][outcome].append(test.test)
    report: dict[str, JsonValue] = {
        "patch_is_None": False,
        "patch_exists": not grade.empty_patch,
        "patch_successfully_applied": grade.patch_applied,
        "resolved": grade.resolved,
        "infra_failure": bool(grade.infrastructure),
        "tests_status": {name: dict(lists.items()) for name, lists in status.items()},
    }
    if grade.infrastructure:
        report["infra_failure_reason"] = grade.infrastructure
    return report


def run_report(rows: Sequence[Trajectory]) -> dict[str, JsonValue]:
    """A SWE-bench run report, schema version 2."""
    groups: dict[str, list[str]] = {
        name: [] for name in ("completed", "resolved", "unresolved", "infra_failure", "empty_patch", "error")
    }
    for row in sorted(rows, key=lambda row: row.task_id):
        grade = row.grade
        if grade is None:
            groups["error"].append(row.task_id)
        elif grade.infrastructure:
            groups["infra_failure"].append(row.task_id)
        elif grade.empty_patch:
            groups["empty_patch"].append(row.task_id)
        else:
            groups["completed"].append(row.task_id)
            groups["resolved" if grade.resolved else "unresolved"].append(row.task_id)
    report: dict[str, JsonValue] = {"schema_version": 2, "total_instances": len(rows)}
    report["submitted_instances"] = len(rows)
    report["submitted_ids"] = [row.task_id for row in sorted(rows, key=lambda row: row.task_id)]
    report["incomplete_ids"] = []
    report["ambiguous_failure_instances"] = 0
    report["ambiguous_failure_ids"] = []
    report["failure_reasons"] = {
        row.task_id: row.grade.infrastructure for row in rows if row.grade and row.grade.infrastructure
    }
    for name, ids in groups.items():
        report[f"{name}_instances"] = len(ids)
        report[f"{name}_ids"] = list(ids)
    return report


def _name(model: str, row: Trajectory) -> str:
    return f"{model}.{row.attempt}" if row.attempt else model
