"""From candidates to tasks: the proof that a change is a bug, and that undoing it is a fix.

1. The coverage map names the tests that can notice the change; with none, nothing is run.
2. Those run on the buggy tree, in a warm interpreter (`warm`). None fails: no bug that a test shows.
3. Those and neighbours in the same files (or the full suite, as `confirm` says) run on it in another process;
   what differs from the first run is flaky.
4. In fresh sandboxes, along the path that grades submissions: the buggy tree as it is must score 0, with
   each fail-to-pass test failing and each pass-to-pass test passing; the fix must score 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ParamSpec, TypeVar

from components.grading.patching import apply_patch
from components.grading.testrun import TestRun
from components.records.errors import InfrastructureError
from components.records.task import Candidate, Rejection, RejectReason, Task
from components.sandbox.base import Sandbox
from components.validation.config import ValidationConfig
from components.validation.gate import Gate
from components.validation.judge import Judgement, judge
from components.validation.patches import changed_lines, reverse
from components.validation.refusal import Refused
from components.validation.split import unit
from components.validation.subject import Subject
from components.validation.trial import Trial
from components.validation.warm import Probe, Run, run_warm
from components.validation.write import difficulty, gather, quality, tell

Outcome = Task | Rejection
P = ParamSpec("P")
R = TypeVar("R")


class Prover:
    """Proves candidates of one repository."""

    def __init__(self, subject: Subject, config: ValidationConfig, sandbox: Sandbox) -> None:
        self.subject, self.config, self.sandbox = subject, config, sandbox
        self.gate = Gate(subject, config, sandbox)

    def prove(self, candidates: Sequence[Candidate]) -> list[Outcome]:
        """One outcome per candidate, in order. A batch shares an interpreter, never a verdict."""
        outcomes: dict[str, Outcome] = {}
        trials = [trial for c in candidates if (trial := _step(outcomes, c, self._prepare, c))]
        runs = self._run([self._probe(trial, trial.covering, trial.around) for trial in trials])
        for trial, found in zip(trials, runs, strict=True):
            task = _step(outcomes, trial.candidate, self._decide, trial, found)
            if task is not None:
                outcomes[task.id] = task
        return [outcomes[candidate.id] for candidate in candidates]

    def _prepare(self, candidate: Candidate) -> Trial:
        """The buggy files, and the tests that can notice the change."""
        changed = changed_lines(candidate.bug_patch)
        pristine = {path: self.subject.read(path) for path in changed}
        files = apply_patch(candidate.bug_patch, pristine)
        found: set[str] = set()
        for path, lines in changed.items():
            found.update(self.subject.tests.covering(path, self.subject.source(path), lines))
        if not found:
            where = ", ".join(f"{path}:{lines[0]}" for path, lines in changed.items() if lines)
            raise Refused(RejectReason.NO_COVERING_TEST, f"no stable test executes {where}")
        covering = tuple(test for test in self.subject.tests.tests if test in found)
        share = {"all": 1.0, "sample": self.config.confirm_share, "none": 0.0}[self.config.confirm]
        confirmed = unit(self.config.seed, "confirm", candidate.id) < share
        around = self.subject.tests.tests if confirmed else self._around(covering, candidate.id)
        files = {path: data for path, data in files.items() if data != pristine[path]}
        return Trial(candidate, files, covering, around, confirmed)

    def _around(self, covering: tuple[str, ...], name: str) -> tuple[str, ...]:
        """No more neighbours than may be kept: what does not execute the change cannot tell much of it."""
        return self.subject.tests.around(covering, self.config.max_pass_to_pass, self._order(name))

    def _order(self, name: str) -> Callable[[str], float]:
        """Neighbours in an order that depends on the candidate and their names alone."""
        return lambda test: unit(self.config.seed, "keep", name, test)

    def _decide(self, trial: Trial, runs: Sequence[TestRun]) -> Task:
        """What the warm runs say, and then the rest of the proof."""
        if not runs:
            raise Refused(RejectReason.CRASH, "took down whatever ran it")
        first = _accept(judge(runs[0], trial.covering))
        if not first.failing:
            raise Refused(RejectReason.NO_FAIL_TO_PASS, f"{len(trial.covering)} covering tests, none fails")
        if len(runs) < 2:
            raise Refused(RejectReason.CRASH, f"exit code {runs[0].exit_code} although tests failed")
        second = _accept(judge(runs[1], trial.around))
        failing, passing, covering = set(second.failing), set(second.passing), set(trial.covering)
        changed = [test for test in first.failing if test not in failing]
        changed += [test for test in first.passing if test not in passing]
        if changed:
            raise Refused(RejectReason.FLAKY, f"not the same in two runs: {', '.join(changed[:3])}")
        trial.first, trial.second, trial.failing = runs[0], runs[1], first.failing
        trial.beside = tuple(test for test in second.failing if test not in covering)
        trial.passing = second.passing or self._elsewhere(trial)
        return self._finish(trial)

    def _elsewhere(self, trial: Trial) -> tuple[str, ...]:
        """Passing tests of other files: an import that the bug breaks fails whole files."""
        seen = set(trial.around)
        rest = tuple(test for test in self.subject.tests.tests if test not in seen)
        runs = self._run([self._probe(trial, rest)])[0] if rest else []
        return _accept(judge(runs[0], rest)).passing if runs else ()

    def _finish(self, trial: Trial) -> Task:
        """The tests that count, the texts, the gates."""
        if not trial.passing:
            raise Refused(RejectReason.NO_PASS_TO_PASS, "no test passes on the buggy tree")
        candidate, subject = trial.candidate, self.subject
        evidence = gather(trial, subject, self.config.statement)
        gold = reverse(candidate.bug_patch)
        visible, hidden = tell(trial, evidence, gold, subject, self.config.statement)
        keep = self._keep(trial)
        wanted = {*trial.failing, *self.gate.noop(trial, keep)}
        fail_to_pass = tuple(test for test in subject.tests.tests if test in wanted)
        task = Task(
            id=candidate.id,
            repository_id=subject.repository.id,
            environment=subject.repository.environment,
            strategy=candidate.strategy,
            path=candidate.path,
            function=candidate.function,
            line=candidate.line,
            bug_patch=candidate.bug_patch,
            gold_patch=gold,
            fail_to_pass=fail_to_pass,
            pass_to_pass=keep,
            test_files=tuple(sorted({test.partition("::")[0] for test in fail_to_pass})),
            protected_paths=self.gate.protected(),
            problem_statement=visible,
            problem_statement_hidden=hidden,
            difficulty=difficulty(trial),
            quality=quality(trial, evidence, fail_to_pass),
            split=subject.side(candidate, self.config),
            parents=(candidate.id,),
        )
        self.gate.gold(task)
        return task

    def _keep(self, trial: Trial) -> tuple[str, ...]:
        """Pass-to-pass tests: covering ones first, then their neighbours, chosen by hash up to a bound."""
        covering, files = set(trial.covering), {test.partition("::")[0] for test in trial.covering}
        # What passes far away is kept only when nothing near does: it says little about the change, and
        # whether it was run at all depends on `confirm`.
        near = [test for test in trial.passing if test.partition("::")[0] in files] or trial.passing
        place = self._order(trial.id)
        order = sorted(near, key=lambda test: (test not in covering, place(test)))
        kept = set(order[: self.config.max_pass_to_pass])
        return tuple(test for test in self.subject.tests.tests if test in kept)

    def _probe(self, trial: Trial, *choices: tuple[str, ...]) -> Probe:
        time, runs = self.config.time, []
        for tests in choices:
            usual = time.factor * self.subject.time(tests)
            runs.append(Run(tests, usual + time.cpu_seconds, usual + time.wall_seconds))
        return Probe(trial.files, tuple(runs))

    def _run(self, probes: Sequence[Probe]) -> list[list[TestRun]]:
        """The runs of each probe; none of one that takes down its driver, which no other probe pays for."""
        arguments = self.sandbox, self.subject.tree, self.subject.recipe
        limits = self.config.sandbox.limits
        try:
            return run_warm(*arguments, probes, limits)
        except InfrastructureError:
            if len(probes) > 1:
                return [self._run([probe])[0] for probe in probes]
            # Whose fault is it? Without the bug the same tests must run, else the machine is at fault.
            run_warm(*arguments, [replace(probe, files={}) for probe in probes], limits)
            return [[] for _ in probes]


def _accept(judgement: Judgement) -> Judgement:
    if judgement.refused is not None:
        raise Refused(judgement.refused, judgement.detail)
    return judgement


def _step(
    outcomes: dict[str, Outcome],
    candidate: Candidate,
    work: Callable[P, R],
    *args: P.args,
    **kwargs: P.kwargs,
) -> R | None:
    """The result of a step, or None and the refusal on record."""
    try:
        return work(*args, **kwargs)
    except Refused as refusal:
        outcomes[candidate.id] = refusal.of(candidate)
        return None
