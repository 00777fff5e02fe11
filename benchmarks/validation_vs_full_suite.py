"""Seconds per candidate: our validation against one full suite per run, on the same candidates, same verdicts.

    python -m benchmarks.validation_vs_full_suite [--count 48] [--json]

The baseline proves the same without a coverage map and without warm interpreters: the full suite on the
buggy tree in a fresh sandbox; of what fails there, the full suite once more (flaky?) and once with the fix.
`one_run` counts only the first of these, which is all that SWE-smith does. Both sides work through the same
batches in turn, one process each, so that a busy machine slows both.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
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


class Verdict(NamedTuple):
    """What one side says of a candidate."""

    name: str
    """`task`, or the reason of the refusal."""
    fail_to_pass: frozenset[str] = frozenset()


class FullSuite:
    """Validation without selection: every run is the whole suite in a fresh sandbox."""

    def __init__(self, subject: Subject, config: ValidationConfig, sandbox: Sandbox) -> None:
        self.subject, self.config, self.sandbox = subject, config, sandbox

    def prove(self, candidate: Candidate) -> tuple[Verdict, float, float]:
        """The verdict, the seconds of the first run, the seconds of all runs."""
        started = time.perf_counter()
        pristine = {path: self.subject.read(path) for path in changed_lines(candidate.bug_patch)}
        buggy = apply_patch(candidate.bug_patch, pristine)
        first = self.run(buggy)
        one = time.perf_counter() - started
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
        return verdict, one, time.perf_counter() - started

    def run(self, files: dict[str, bytes]) -> Judgement:
        """The whole suite, once."""
        tests = self.subject.tests.tests
        seconds = self.config.time.factor * self.subject.time(tests) + self.config.time.wall_seconds
        with self.sandbox.open(self.subject.tree, files=files, limits=self.config.sandbox.limits) as session:
            return judge(run_tests(session, tests, recipe=self.subject.recipe, timeout=seconds), tests)


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
    rows: list[dict[str, float]] = []
    verdicts: Counter[str] = Counter()
    different: list[str] = []
    tests: list[str] = []
    for first in range(0, len(candidates), config.batch):
        batch = candidates[first : first + config.batch]
        started = time.perf_counter()
        mine = [verdict_of(outcome) for outcome in ours.prove(batch)]
        seconds = time.perf_counter() - started
        peer = [theirs.prove(candidate) for candidate in batch]
        ended = [one for verdict, one, _ in peer if verdict.name != RejectReason.TIMEOUT]
        rows.append(
            {
                "ours": seconds / len(batch),
                "full_suite": sum(total for _, _, total in peer) / len(batch),
                "one_run": sum(one for _, one, _ in peer) / len(batch),
                "one_run_without_time_outs": sum(ended) / max(1, len(ended)),
            }
        )
        for candidate, own, (verdict, _, _) in zip(batch, mine, peer, strict=True):
            verdicts[own.name] += 1
            if own.name != verdict.name:
                different.append(f"{candidate.id}: ours {own.name}, full suite {verdict.name}")
            elif own.fail_to_pass != verdict.fail_to_pass:
                tests.append(f"{candidate.id}: {sorted(own.fail_to_pass ^ verdict.fail_to_pass)[:3]}")
        print(f"{first + len(batch)}/{len(candidates)}", file=sys.stderr)
    median = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    return {
        "subject": subject.repository.id,
        "candidates": len(candidates),
        "verdicts": dict(verdicts),
        "different_verdicts": different,
        "different_fail_to_pass": tests,
        "seconds_per_candidate": [{k: round(v, 3) for k, v in row.items()} for row in rows],
        "median_seconds_per_candidate": {name: round(value, 3) for name, value in median.items()},
        "ratio": round(median["full_suite"] / median["ours"], 2),
        "ratio_one_run": round(median["one_run"] / median["ours"], 2),
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
        median = result["median_seconds_per_candidate"]
        print(f"{result['candidates']} candidates of {result['subject']}: {result['verdicts']}")
        print(f"ours        {median['ours']:.2f} s per candidate")
        print(f"full suite  {median['full_suite']:.2f} s, {result['ratio']} x ours")
        print(f"one run     {median['one_run']:.2f} s, {result['ratio_one_run']} x ours")
        print(f"verdicts that differ: {result['different_verdicts'] or 'none'}")
        print(f"fail-to-pass sets that differ: {result['different_fail_to_pass'] or 'none'}")
    return 1 if result["different_verdicts"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
