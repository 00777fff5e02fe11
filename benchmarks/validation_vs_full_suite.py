"""Seconds per candidate: our validation against one full suite per run, on the same candidates, same verdicts.

    python -m benchmarks.validation_vs_full_suite [--count 48] [--json]

The baseline proves the same without a coverage map and without warm interpreters: the full suite on the
buggy tree in a fresh sandbox; of what fails there, the full suite once more (flaky?) and once with the fix.
`one_run` counts only the first of these, which is all that SWE-smith does; its limit of 120 s a run is the
baseline's. What slows tests down by more than ours allows is a time-out on both sides. Both sides work through
the same batches in turn, one process each. Wall seconds are given, but the ratios are of CPU seconds, sandboxes
included: they do not depend on what else the machine does, and they are kind to the baseline, whose suite also
sleeps for a second.
"""

import argparse
import ctypes
import json
import os
import resource
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from components.grading.patching import apply_patch
from components.grading.runner import run_tests
from components.params import load_params
from components.records.repository import BaselineTest, Coverage, Environment, Repository
from components.records.task import Candidate, Rejection, RejectReason
from components.repos.stage import RepositoriesStage
from components.sandbox import make_sandbox
from components.sandbox.base import Sandbox
from components.sandbox.trees import tree_for
from components.store import Store, Workspace, execute
from components.synthesis.stage import SynthesisStage
from components.validation.config import ValidationConfig
from components.validation.judge import Judgement, judge
from components.validation.order import in_turn
from components.validation.patches import changed_lines
from components.validation.prove import Outcome, Prover
from components.validation.subject import Subject

_SAME = {RejectReason.NO_COVERING_TEST: RejectReason.NO_FAIL_TO_PASS}


_LIMIT_SECONDS = 120.0
_PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Spent:
    """Resources between two moments."""

    wall: float
    cpu: float

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: "Spent") -> "Spent":
        return Spent(self.wall - other.wall, self.cpu - other.cpu)


def spent() -> Spent:
    """What this process and everything it ever started have used. Call it only when nothing is running."""
    # A sandbox's processes outlive the one that we started by a moment; as their subreaper we inherit them.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
        except ChildProcessError:
            break
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    return Spent(time.perf_counter(), cpu)


class Verdict(NamedTuple):
    """What one side says of a candidate."""

    name: str
    """`task`, or the reason of the refusal."""
    fail_to_pass: frozenset[str] = frozenset()


class FullSuite:
    """Validation without selection: every run is the whole suite in a fresh sandbox."""

    def __init__(self, subject: Subject, config: ValidationConfig, sandbox: Sandbox) -> None:
        self.subject, self.config, self.sandbox = subject, config, sandbox

    def prove(self, candidate: Candidate) -> tuple[Verdict, Spent, Spent]:
        """The verdict, what the first run took, what all runs took."""
        started = spent()
        pristine = {path: self.subject.read(path) for path in changed_lines(candidate.bug_patch)}
        buggy = apply_patch(candidate.bug_patch, pristine)
        first = self.run(buggy)
        one = spent() - started
        if first.refused or not first.failing or not first.passing:
            reason = first.refused or (
                RejectReason.NO_PASS_TO_PASS if first.failing else RejectReason.NO_FAIL_TO_PASS
            )
            return Verdict(reason), one, one
        verdict = Verdict("task", frozenset(first.failing))
        if self.run(buggy) != first:
            verdict = Verdict(RejectReason.FLAKY)
        elif len(self.run(pristine).passing) != len(self.subject.tests.tests):
            verdict = Verdict(RejectReason.GOLD_FAILS)
        return verdict, one, spent() - started

    def run(self, files: dict[str, bytes]) -> Judgement:
        """The whole suite, once. Tests that a change makes as slow as ours refuses are refused here too."""
        tests = self.subject.tests.tests
        limits = self.config.sandbox.limits.model_copy(update={"cpu_seconds": _LIMIT_SECONDS})
        with self.sandbox.open(self.subject.tree, files=files, limits=limits) as session:
            run = run_tests(session, tests, recipe=self.subject.recipe, timeout=_LIMIT_SECONDS)
        time = self.config.time
        late = (seconds - time.factor * self.subject.time((test,)) for test, seconds in run.durations.items())
        if sum(max(0.0, seconds) for seconds in late) > time.wall_seconds:
            return Judgement(refused=RejectReason.TIMEOUT)
        return judge(run, tests)


def verdict_of(outcome: Outcome) -> Verdict:
    """Ours, in the words of the baseline: a change that no test covers is one that no test notices."""
    if isinstance(outcome, Rejection):
        return Verdict(_SAME.get(outcome.reason, outcome.reason))
    return Verdict("task", frozenset(outcome.fail_to_pass))


def prepare(workspace: Workspace, name: str) -> tuple[Subject, list[Candidate], ValidationConfig, Sandbox]:
    """Run the stages before validation for one repository, from the store when it has them."""
    params, store = load_params(Path(__file__).parent.parent / "params.yaml"), Store(workspace)
    entries = tuple(entry for entry in params.repositories.catalogue if entry.name == name)
    catalogue = params.repositories.model_copy(update={"catalogue": entries})
    repositories = execute(RepositoriesStage(), catalogue, {}, store)
    found = execute(SynthesisStage(), params.synthesis, {"repositories": repositories}, store)
    row = repositories.rows("repositories", Repository)[0]
    subject = Subject.build(
        row,
        repositories.rows("environments", Environment)[0],
        tree_for(workspace, row.id, row.tree_sha256, row.environment),
        repositories.rows("baseline", BaselineTest),
        repositories.rows("coverage", Coverage),
    )
    config = params.validation.model_copy(update={"confirm": "none"})
    sandbox = make_sandbox(config.sandbox)
    candidates = in_turn(found.rows("candidates", Candidate), config.seed, config.max_per_function)
    return subject.timed(sandbox, config), candidates, config, sandbox


def compare(
    subject: Subject, candidates: Sequence[Candidate], config: ValidationConfig, sandbox: Sandbox
) -> dict[str, Any]:
    """Both sides on the same candidates, batch by batch."""
    ours, theirs = Prover(subject, config, sandbox), FullSuite(subject, config, sandbox)
    rows: list[dict[str, Spent]] = []
    sizes: list[int] = []
    verdicts: Counter[str] = Counter()
    different: list[str] = []
    tests: list[str] = []
    for first in range(0, len(candidates), config.batch):
        batch = candidates[first : first + config.batch]
        started = spent()
        mine = [verdict_of(outcome) for outcome in ours.prove(batch)]
        used = spent() - started
        peer = [theirs.prove(candidate) for candidate in batch]
        rows.append(
            {
                "ours": used,
                "full_suite": sum((total for _, _, total in peer), Spent(0, 0)),
                "one_run": sum((one for _, one, _ in peer), Spent(0, 0)),
            }
        )
        sizes.append(len(batch))
        for candidate, own, (verdict, _, _) in zip(batch, mine, peer, strict=True):
            verdicts[own.name] += 1
            if own.name != verdict.name:
                different.append(f"{candidate.id}: ours {own.name}, full suite {verdict.name}")
            elif own.fail_to_pass != verdict.fail_to_pass:
                tests.append(f"{candidate.id}: {sorted(own.fail_to_pass ^ verdict.fail_to_pass)[:3]}")
        print(f"{first + len(batch)}/{len(candidates)}", file=sys.stderr)
    each = [
        {name: Spent(item.wall / size, item.cpu / size) for name, item in row.items()}
        for row, size in zip(rows, sizes, strict=True)
    ]
    cpu = {name: statistics.median(row[name].cpu for row in each) for name in each[0]}
    wall = {name: statistics.median(row[name].wall for row in each) for name in each[0]}
    return {
        "subject": subject.repository.id,
        "candidates": len(candidates),
        "verdicts": dict(verdicts),
        "different_verdicts": different,
        "different_fail_to_pass": tests,
        "batches": [
            {name: [round(item.wall, 3), round(item.cpu, 3)] for name, item in row.items()} for row in each
        ],
        "median_wall_seconds": {name: round(value, 3) for name, value in wall.items()},
        "median_cpu_seconds": {name: round(value, 3) for name, value in cpu.items()},
        "ratio": round(cpu["full_suite"] / cpu["ours"], 2),
        "ratio_one_run": round(cpu["one_run"] / cpu["ours"], 2),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workspace", type=Path, default=Path(".flywheel"))
    parser.add_argument("--repository", default="boltons")
    parser.add_argument("--count", type=int, default=48)
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args(arguments)
    subject, candidates, config, sandbox = prepare(Workspace(options.workspace), options.repository)
    result = compare(subject, candidates[: options.count], config, sandbox)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        cpu, wall = result["median_cpu_seconds"], result["median_wall_seconds"]
        print(f"{result['candidates']} candidates of {result['subject']}: {result['verdicts']}")
        print(f"ours        {cpu['ours']:.2f} CPU s per candidate ({wall['ours']:.2f} s)")
        print(
            f"full suite  {cpu['full_suite']:.2f} CPU s ({wall['full_suite']:.2f} s), {result['ratio']} x ours"
        )
        print(
            f"one run     {cpu['one_run']:.2f} CPU s ({wall['one_run']:.2f} s), {result['ratio_one_run']} x ours"
        )
        print(f"verdicts that differ: {result['different_verdicts'] or 'none'}")
        print(f"fail-to-pass sets that differ: {result['different_fail_to_pass'] or 'none'}")
    return 1 if result["different_verdicts"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
