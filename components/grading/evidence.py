"""From signed records to a `TestRun`: every contradiction is named, and nothing is guessed."""

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path
from typing import Any

from components.grading.testrun import Event, Failure, Frame, TestRun
from components.records.errors import SandboxError
from components.records.repository import TestStatus
from components.sandbox.base import ExecResult

RESULT_FILE = "records"
_MAX_BYTES = 256 * 2**20


class DriverLost(SandboxError):
    """No record of the driver's start: it never ran, or its records were destroyed."""


def read_records(folder: Path, key: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """The records of a run in order, and what is wrong with the file.

    Args:
        folder: What the driver could write to.
        key: Of this run.
    """
    problems = [
        f"unexpected file {path.name!r} among the results"
        for path in folder.iterdir()
        if path.name != RESULT_FILE
    ]
    path = folder / RESULT_FILE
    if not path.is_file() or path.is_symlink():
        return [], problems
    if path.stat().st_size > _MAX_BYTES:
        return [], [*problems, "the result file is too large"]
    records: list[dict[str, Any]] = []
    lines = path.read_bytes().split(b"\n")
    # A run that was killed may end in half a line; anything after the last newline is ignored.
    for line in lines[:-1]:
        mac, _, body = line.partition(b" ")
        if not compare_digest(mac, blake2b(body, key=key, digest_size=16).hexdigest().encode()):
            problems.append("a record was not signed by the driver")
            continue
        record = json.loads(body)
        if record["seq"] != len(records):
            problems.append(f"record {record['seq']} found where {len(records)} was expected")
        records.append(record)
    return records, problems


def test_run(
    tests: Sequence[str], result: ExecResult, records: Sequence[Mapping[str, Any]], problems: Sequence[str]
) -> TestRun:
    """Judge the records of one run.

    Args:
        tests: What was asked for.
        result: How the process ended.
        records: From `read_records`.
        problems: From `read_records`.

    Raises:
        DriverLost: There is no sign that the driver ever started.
    """
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        kinds.setdefault(record["kind"], []).append(record)
    if not kinds.get("hello") and not problems and not result.timed_out and not result.killed:
        raise DriverLost(f"the test driver did not start (exit code {result.exit_code}): {_tail(result)}")
    found = [*problems, *(problem for record in records for problem in record.get("problems", ()))]
    results, duplicates = _results(kinds.get("test", []))
    found += [f"several tests are called {test!r}" for test in duplicates]
    found += [f"event: {r['event']}" for r in kinds.get("event", []) if r["event"] == "forged_record"]
    found += _told_twice(kinds, results)
    killed = result.killed or (f"signal {result.exit_code - 128}" if result.exit_code > 128 else "")
    done = kinds.get("done", [])
    collected = [test for record in kinds.get("collected", []) for test in record["tests"]]
    if not result.timed_out and not killed:
        found += _contradictions(result.exit_code, kinds)
    collection = {str(r["file"]): r for r in kinds.get("collect", [])}
    failures = {test: _failure(r["failure"]) for test, r in results.items() if r["failure"]}
    failures |= {file: _failure(r["failure"]) for file, r in collection.items() if r["outcome"] == "failed"}
    statuses = {test: _status(record["phases"]) for test, record in results.items()}
    statuses |= dict.fromkeys(duplicates, TestStatus.ERROR)
    for test in tests:
        if "::" in test and test not in statuses and not _holds(test, statuses):
            statuses[test] = _uncollected(test, collection)
    return TestRun(
        statuses=statuses,
        exit_code=result.exit_code,
        timed_out=result.timed_out,
        killed="" if result.timed_out else killed,
        output=result.stdout + (f"\n{result.stderr}" if result.stderr.strip() else ""),
        failures=failures,
        durations={test: float(record["seconds"]) for test, record in results.items()},
        coverage={
            r["test"]: {path: tuple(lines) for path, lines in r["files"].items()}
            for r in kinds.get("coverage", [])
        },
        hung=_hung(collected, results) if result.timed_out and not done else "",
        events=tuple(
            Event(kind=r["event"], detail=r["detail"], frames=_frames(r["frames"]))
            for r in kinds.get("event", [])
        ),
        trusted=not found,
        problems=tuple(dict.fromkeys(found)),
        seconds=result.seconds,
    )


def _holds(test: str, statuses: Mapping[str, TestStatus]) -> bool:
    """Whether it stands for others that ran: the parameters of a function, the methods of a class."""
    return any(other.startswith((f"{test}[", f"{test}::")) for other in statuses)


def _hung(collected: Sequence[str], results: Mapping[str, Any]) -> str:
    return next((test for test in collected if test not in results), "")


def _results(records: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    results: dict[str, Mapping[str, Any]] = {}
    duplicates: list[str] = []
    for record in records:
        if record["test"] in results:
            duplicates.append(record["test"])
        results[record["test"]] = record
    return results, duplicates


def _told_twice(
    kinds: Mapping[str, Sequence[Mapping[str, Any]]], results: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Where what was said at once differs from what was said later."""
    first: dict[str, dict[str, str]] = {}
    for record in kinds.get("phase", []):
        phases = first.setdefault(record["test"], {})
        if phases.get(record["when"]) != "failed":
            phases[record["when"]] = record["outcome"]
    out = [
        f"{test}: recorded as {dict(record['phases'])}, which is not what was seen: {first.get(test)}"
        for test, record in results.items()
        if dict(record["phases"]) != first.get(test, {})
    ]
    codes: dict[str, list[Any]] = {}
    for record in kinds.get("collected", []):
        for test, code in zip(record["tests"], record["codes"], strict=True):
            codes.setdefault(test, []).append(code)
    out += [
        f"{record['test']}: what ran is not what was collected"
        for record in kinds.get("call", [])
        if record["code"] not in codes.get(record["test"], ())
    ]
    return out


def _contradictions(exit_code: int, kinds: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Of a run that ended by itself."""
    done, tests = kinds.get("done", []), kinds.get("test", [])
    if len(done) != 1:
        return [f"ended early: exit code {exit_code} with {len(done)} completion records"]
    out = []
    if done[0]["exit"] != exit_code:
        out.append(f"exit code {exit_code}, but the driver ended with {done[0]['exit']}")
    if done[0]["tests"] != len(tests):
        out.append(f"{len(tests)} tests were recorded, but {done[0]['tests']} were run")
    bad = any(_status(record["phases"]) in (TestStatus.FAILED, TestStatus.ERROR) for record in tests)
    bad = bad or any(record["outcome"] == "failed" for record in kinds.get("collect", []))
    expected = {1} if bad else ({0, 5} if not tests else {0})
    if exit_code not in expected:
        out.append(f"exit code {exit_code} contradicts the records, which say {sorted(expected)}")
    return out


def _status(phases: Mapping[str, str]) -> TestStatus:
    setup, call, teardown = (phases.get(name, "") for name in ("setup", "call", "teardown"))
    if setup == "failed" or teardown == "failed":
        return TestStatus.ERROR
    if setup in ("skipped", "xfailed"):
        return TestStatus(setup)
    if setup != "passed" or teardown != "passed" or not call:
        return TestStatus.MISSING
    return TestStatus(call)


def _uncollected(test: str, collection: Mapping[str, Mapping[str, Any]]) -> TestStatus:
    """Of a test that did not run, because of the file, class or folder that holds it."""
    for node, record in collection.items():
        if test == node or test.startswith((f"{node}::", f"{node}/")) or node in ("", "."):
            return TestStatus.ERROR if record["outcome"] == "failed" else TestStatus.SKIPPED
    return TestStatus.MISSING


def _failure(value: Mapping[str, Any]) -> Failure:
    return Failure(
        exception=value["exception"],
        message=value["message"],
        frames=_frames(value["frames"]),
        phase=value["phase"],
    )


def _frames(entries: Sequence[Sequence[Any]]) -> tuple[Frame, ...]:
    return tuple(Frame(path=path, line=line, function=function) for path, line, function in entries)


def _tail(result: ExecResult) -> str:
    return (result.stderr or result.stdout).strip()[-500:].replace("\n", " | ")
