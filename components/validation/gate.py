"""The last gates, in fresh sandboxes and along the path that grades submissions."""

from components.grading.grade import GradeCache, grade, grade_key
from components.grading.protect import protected_for
from components.grading.runner import run_tests
from components.records.errors import InfrastructureError
from components.records.task import RejectReason, Task
from components.sandbox.base import Sandbox
from components.validation.config import ValidationConfig
from components.validation.judge import judge
from components.validation.refusal import Refused
from components.validation.subject import Subject
from components.validation.trial import Trial


class Gate:
    """Doing nothing must score 0, the fix 1."""

    def __init__(self, subject: Subject, config: ValidationConfig, sandbox: Sandbox) -> None:
        self.subject, self.config, self.sandbox = subject, config, sandbox

    def protected(self) -> tuple[str, ...]:
        """Paths that a submission may not change."""
        return protected_for(self.subject.recipe)

    def noop(self, trial: Trial, keep: tuple[str, ...]) -> tuple[str, ...]:
        """Run the tests that are to count on the buggy tree.

        Returns:
            Those of `trial.beside` that fail here, too: on their own, not for what ran before them.

        Raises:
            Refused: A fail-to-pass test passes, or a pass-to-pass test does not.
        """
        tests = (*trial.failing, *trial.beside, *keep)
        with self.sandbox.open(
            self.subject.tree, files=trial.files, limits=self.config.sandbox.limits
        ) as session:
            run = run_tests(session, tests, recipe=self.subject.recipe, timeout=self.seconds(tests))
        judgement = judge(run, tests)
        if judgement.refused:
            raise Refused(judgement.refused, judgement.detail)
        if not run.trusted:
            raise Refused(RejectReason.FLAKY, "; ".join(run.problems[:3]))
        failing, passing = set(judgement.failing), set(judgement.passing)
        if wrong := [test for test in trial.failing if test not in failing]:
            raise Refused(
                RejectReason.NOOP_PASSES, f"pass on the buggy tree by themselves: {', '.join(wrong[:3])}"
            )
        if wrong := [test for test in keep if test not in passing]:
            raise Refused(
                RejectReason.FLAKY, f"passed before, not in a fresh sandbox: {', '.join(wrong[:3])}"
            )
        return tuple(test for test in trial.beside if test in failing)

    def gold(self, task: Task) -> None:
        """Grade the fix, and an empty patch.

        Raises:
            Refused: The fix does not resolve the task, or nothing does.
            InfrastructureError: The machine failed.
        """
        arguments = task, self.subject.tree, self.sandbox, self.subject.recipe
        if grade("", *arguments).reward:
            raise Refused(RejectReason.NOOP_PASSES, "an empty patch is rewarded")
        result = grade(task.gold_patch, *arguments)
        if result.infrastructure:
            raise InfrastructureError(f"{task.id}: {result.infrastructure}")
        if not result.resolved or result.reward < 1:
            odd = [f"{test.test} {test.status}" for test in result.tests if test.status != "passed"]
            odd += [f"{hack.kind} {hack.detail}" for hack in result.hacks]
            raise Refused(RejectReason.GOLD_FAILS, "; ".join(odd[:5]) or f"reward {result.reward}")
        if self.subject.grades is not None:
            # Never read here, where it is proven: for demonstrations that end in the same patch.
            GradeCache(self.subject.grades).put(grade_key(task.gold_patch, task), result)

    def seconds(self, tests: tuple[str, ...]) -> float:
        """Wall seconds that a cold run may take."""
        return self.config.time.factor * self.subject.time(tests) + 3 * self.config.time.wall_seconds
