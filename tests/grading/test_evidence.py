import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from components.grading import evidence
from components.grading.evidence import DriverLost, read_records
from components.grading.testrun import TestRun
from components.sandbox.base import ExecResult

KEY = b"k" * 32
TEST = "tests/test_a.py::test_a"
CODE = ["a.py", 1, "", []]
HELLO = {"kind": "hello"}
COLLECTED = {"kind": "collected", "tests": [TEST], "codes": [CODE]}
CALL = {"kind": "call", "test": TEST, "code": CODE}
PASSED = {"setup": "passed", "call": "passed", "teardown": "passed"}
FAILED = {**PASSED, "call": "failed"}
DONE = {"kind": "done", "exit": 0, "tests": 1}
START: list[dict[str, Any]] = [HELLO, COLLECTED, CALL]


def told(phases: Mapping[str, str]) -> list[dict[str, Any]]:
    said = [{"kind": "phase", "test": TEST, "when": when, "outcome": o} for when, o in phases.items()]
    return [*said, {"kind": "test", "test": TEST, "phases": dict(phases), "failure": None, "seconds": 0.1}]


GOOD: list[dict[str, Any]] = [*START, *told(PASSED), DONE]


def judge(records: list[dict[str, Any]], exit_code: int = 0, **ended: Any) -> TestRun:
    result = ExecResult(
        exit_code=exit_code, stdout="out", stderr="", seconds=1.0, truncated=False,
        timed_out=ended.get("timed_out", False), killed=ended.get("killed", ""),
    )  # fmt: skip
    return evidence.test_run([TEST], result, records, ended.get("problems", ()))


def line(record: Mapping[str, Any], sequence: int, key: bytes = KEY) -> bytes:
    body = json.dumps({**record, "seq": sequence}).encode()
    return blake2b(body, key=key, digest_size=16).hexdigest().encode() + b" " + body + b"\n"


def test_a_clean_run() -> None:
    run = judge(GOOD)
    assert run.trusted
    assert run.statuses == {TEST: "passed"}
    assert run.durations == {TEST: 0.1}


@pytest.mark.parametrize(
    ("records", "exit_code", "problem"),
    [
        (GOOD[:-1], 0, "ended early"),
        (GOOD[:-1], 1, "ended early"),
        ([*GOOD, DONE], 0, "2 completion records"),
        (GOOD, 1, "exit code 1, but the driver ended with 0"),
        ([*GOOD[:-1], {**DONE, "tests": 2}], 0, "but 2 were run"),
        ([*GOOD[:-1], {**DONE, "exit": 1}], 1, "contradicts"),
        ([*GOOD[:-1], {**DONE, "problems": ["pytest was replaced"]}], 0, "pytest was replaced"),
        ([*START, *told(PASSED), *told(PASSED), {**DONE, "tests": 2}], 0, "several tests"),
        ([*START, *told(FAILED), DONE], 0, "contradicts"),
        ([*START, told(PASSED)[-1], DONE], 0, "not what was seen"),
        ([*START, *told(FAILED)[:-1], *told(PASSED), DONE], 0, "not what was seen"),
        (
            [*START[:-1], {**CALL, "code": ["b.py", 1, "", []]}, *told(PASSED), DONE],
            0,
            "not what was collected",
        ),
        (
            [*GOOD, {"kind": "event", "event": "forged_record", "detail": "", "frames": []}],
            0,
            "forged_record",
        ),
    ],
)
def test_contradictions(records: list[dict[str, Any]], exit_code: int, problem: str) -> None:
    run = judge(records, exit_code)
    assert not run.trusted
    assert any(problem in found for found in run.problems), run.problems


def test_time_and_limits_are_no_contradiction() -> None:
    late = judge([*START], 124, timed_out=True, killed="wall")
    assert (late.trusted, late.timed_out, late.killed, late.hung) == (True, True, "", TEST)
    assert late.statuses == {TEST: "missing"}
    killed = judge(GOOD[:-1], 137, killed="memory")
    assert (killed.trusted, killed.killed) == (True, "memory")
    assert judge(GOOD[:-1], 139).killed == "signal 11"


def test_a_driver_that_never_spoke() -> None:
    with pytest.raises(DriverLost, match="exit code 1"):
        judge([], 1)
    assert not judge([], 1, problems=("a record was not signed",)).trusted


@pytest.mark.parametrize(
    ("phases", "status"),
    [
        ({"setup": "failed", "teardown": "passed"}, "error"),
        ({"setup": "skipped", "teardown": "passed"}, "skipped"),
        ({"setup": "xfailed", "teardown": "passed"}, "xfailed"),
        ({**PASSED, "call": "xpassed"}, "xpassed"),
        ({**PASSED, "teardown": "failed"}, "error"),
        ({"setup": "passed", "teardown": "passed"}, "missing"),
        ({"setup": "passed", "call": "passed"}, "missing"),
        ({}, "missing"),
    ],
)
def test_status_of_phases(phases: dict[str, str], status: str) -> None:
    assert judge([*START, *told(phases), DONE]).statuses[TEST] == status


def test_records_are_read_if_they_are_signed(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(line(HELLO, 0) + line(DONE, 1) + b"half a li")
    assert read_records(tmp_path, KEY) == ([{**HELLO, "seq": 0}, {**DONE, "seq": 1}], [])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (line(HELLO, 0) + b"{}\n", "not signed"),
        (line(HELLO, 0, b"x" * 32), "not signed"),
        (line(HELLO, 0).replace(b"hello", b"hullo"), "not signed"),
        (line(HELLO, 0) + line(DONE, 0), "record 0 found where 1"),
        (line(HELLO, 1), "record 1 found where 0"),
        (b"\n", "not signed"),
    ],
)
def test_what_is_not_signed_is_told(tmp_path: Path, data: bytes, problem: str) -> None:
    (tmp_path / "records").write_bytes(data)
    assert any(problem in found for found in read_records(tmp_path, KEY)[1])


def test_other_files_are_told(tmp_path: Path) -> None:
    assert read_records(tmp_path, KEY) == ([], [])
    (tmp_path / "report.json").write_text("{}")
    assert "report.json" in read_records(tmp_path, KEY)[1][0]
    (tmp_path / "records").symlink_to(tmp_path / "report.json")
    assert read_records(tmp_path, KEY)[0] == []
