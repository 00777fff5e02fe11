"""What a proven bug is told as: evidence, the two problem statements, difficulty, quality codes."""

from collections.abc import Mapping
from dataclasses import replace

from components.grading.testrun import Failure, TestRun
from components.records.task import RejectReason
from components.validation.config import StatementConfig
from components.validation.evidence import Evidence, Frame, called_functions, clean_message, source_frames
from components.validation.leak import Change, body_of_tests, leaked_tests, line_leaks, name_leaks
from components.validation.refusal import Refused
from components.validation.source import SourceFile
from components.validation.statement import (
    VOCABULARY,
    Budget,
    exception_line,
    hidden_statement,
    visible_statement,
)
from components.validation.subject import Subject
from components.validation.suspects import suspects
from components.validation.trial import Trial


def gather(trial: Trial, subject: Subject, config: StatementConfig) -> Evidence:
    """The evidence of the most telling failing test: the one that executes the fewest lines."""
    tests = tuple(sorted(trial.failing, key=lambda test: (subject.tests.breadth(test), test)))
    test = tests[0]
    first, second = _failure(trial.first, test), _failure(trial.second, test)
    if first is None:
        return Evidence(tests=tests, exception="", message="")
    message = clean_message(first.message, config.max_message)
    if second is None or clean_message(second.message, config.max_message) != message:
        message = ""
    buggy = {path: SourceFile(path, data.decode("utf-8", "replace")) for path, data in trial.files.items()}
    places = [(frame.path, frame.line, frame.function) for frame in first.frames]
    path = test.partition("::")[0]
    in_test = next((Frame(p, line, name) for p, line, name in reversed(places) if p == path), None)
    called = called_functions(
        subject.text(path),
        test,
        in_test.line if in_test else None,
        subject.sources,
        subject.tests.lines.get(test, {}),
        config.max_functions,
    )
    suspicious = [
        Frame(path, subject.executions[path, name][0], name)
        for path, name in suspects(trial.failing, subject.executions, config.max_functions)
    ]
    return Evidence(
        tests=tests,
        exception=first.exception.rpartition(".")[2],
        message=message,
        frames=source_frames(places, {**subject.sources, **buggy}, config.max_frames),
        test_frame=in_test,
        called=tuple(_moved(frame, buggy) for frame in called),
        suspects=tuple(_moved(frame, buggy) for frame in suspicious),
    )


def _failure(run: TestRun | None, test: str) -> Failure | None:
    if run is None:
        return None
    return run.failures.get(test) or run.failures.get(test.partition("::")[0])


def _moved(frame: Frame, buggy: Mapping[str, SourceFile]) -> Frame:
    """Where a function begins in the buggy tree, which is what the agent sees."""
    if frame.path in buggy:
        for function in buggy[frame.path].functions:
            if function.qualname == frame.function:
                return replace(frame, line=function.definition)
    return frame


def tell(
    trial: Trial, evidence: Evidence, gold_patch: str, subject: Subject, config: StatementConfig
) -> tuple[str, str]:
    """The statements for visible and for hidden tests.

    What is quoted from the failing run may itself hold a line of the fix or of a test. Then the quotation
    goes; what still leaks is refused.

    Raises:
        Refused: It gives the answer away.
    """
    budget = Budget(config.max_tests, config.max_frames, config.max_functions, config.max_characters)
    found: list[str] = []
    for told in (evidence, replace(evidence, message="")):
        visible = visible_statement(trial.id, subject.repository.name, told, budget)
        hidden = hidden_statement(trial.id, subject.repository.name, told, budget)
        found = leaks(visible, hidden, told, gold_patch, trial, subject)
        if not found:
            return visible, hidden
    raise Refused(RejectReason.LEAK, "; ".join(found))


def leaks(
    visible: str, hidden: str, evidence: Evidence, gold_patch: str, trial: Trial, subject: Subject
) -> list[str]:
    """Everything that the statements must not say and say."""
    change = Change.of(gold_patch)
    allowed = VOCABULARY | subject.public
    bodies = tuple(
        line
        for path in sorted({test.partition("::")[0] for test in evidence.tests})
        for line in body_of_tests(subject.text(path), evidence.tests)
    )
    found = []
    for statement in (visible, hidden):
        found += line_leaks(statement, change.added, "fix")
        found += line_leaks(statement, change.removed, "bug")
        found += line_leaks(statement, bodies, "test")
        # A name that the interpreter itself reports is a symptom (`UnboundLocalError`: ... 'count').
        found += name_leaks(statement.replace(exception_line(evidence), ""), change, allowed)
    found += leaked_tests(hidden, evidence.tests)
    return sorted(set(found))


def difficulty(trial: Trial) -> float:
    """0 (easy) to 1: one minus the share of covering tests that fail."""
    return round(1 - len(trial.failing) / len(trial.covering), 4)


def quality(trial: Trial, evidence: Evidence, fail_to_pass: tuple[str, ...]) -> tuple[str, ...]:
    """Codes for what makes a task better or worse to learn from; none of them refuses it."""
    first = _failure(trial.first, evidence.tests[0])
    codes = {
        "breaks_import": first is not None and first.phase == "collect",
        "breaks_most": len(trial.failing) > 0.8 * len(trial.covering) and len(trial.covering) > 4,
        "full_suite": trial.confirmed,
        "no_message": not evidence.message,
        "no_traceback": not evidence.frames,
        "one_failing_test": len(fail_to_pass) == 1,
        "side_effects": bool(trial.beside),
    }
    return tuple(sorted(code for code, holds in codes.items() if holds))
