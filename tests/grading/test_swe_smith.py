"""Verdicts from the statuses in SWE-smith's own reports are SWE-smith's own verdicts."""

import json
import re
from pathlib import Path

import pytest

from components.grading.grade import verdict
from components.grading.submission import Submission
from components.grading.testrun import TestRun
from components.records.repository import TestStatus as Status
from tests.grading.support import one_bug

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "grading"
LINE = re.compile(r"^(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)(?: .*)?$")
STATUS = {"PASSED": Status.PASSED, "FAILED": Status.FAILED, "ERROR": Status.ERROR, "SKIPPED": Status.SKIPPED}


def reports() -> list[Path]:
    return sorted(DATA.glob("*/report.json"))


def of_log(path: Path) -> dict[str, Status]:
    found = (LINE.match(line) for line in path.read_text().splitlines())
    return {match[1]: STATUS.get(match[2], Status.XFAILED) for match in found if match}


@pytest.mark.skipif(
    not reports(), reason=f"no SWE-smith reports in {DATA}: they are test data of another project"
)
@pytest.mark.parametrize("path", reports(), ids=lambda path: path.parent.name)
def test_same_verdict(path: Path) -> None:
    report = json.loads(path.read_text())
    told = report["tests_status"]
    lists = {
        kind: (*told[kind]["success"], *told[kind]["failure"]) for kind in ("FAIL_TO_PASS", "PASS_TO_PASS")
    }
    task = one_bug().model_copy(
        update={"fail_to_pass": lists["FAIL_TO_PASS"], "pass_to_pass": lists["PASS_TO_PASS"]}
    )
    statuses = of_log(path.with_name("test_output.txt"))
    grade = verdict(task, Submission(applied=True), TestRun(statuses=statuses, exit_code=0))
    assert grade.resolved == report["resolved"]
    for result in grade.tests:
        passed = result.test in (*told["FAIL_TO_PASS"]["success"], *told["PASS_TO_PASS"]["success"])
        assert (result.status is Status.PASSED) == passed, result
    broken = dict.fromkeys(lists["FAIL_TO_PASS"][:1], Status.FAILED)
    assert not verdict(
        task, Submission(applied=True), TestRun(statuses=statuses | broken, exit_code=1)
    ).resolved
