"""The warm interpreter on the tiny repository."""

from components.records.repository import TestStatus
from components.sandbox.base import Limits, Sandbox
from components.validation.subject import Subject
from components.validation.warm import Probe, Run, run_warm

NUMBERS = "tinylib/numbers.py"
PASSED, FAILED, MISSING = TestStatus.PASSED, TestStatus.FAILED, TestStatus.MISSING


def probe(subject: Subject, old: str, new: str, *tests: tuple[str, ...]) -> Probe:
    text = subject.text(NUMBERS).replace(old, new)
    return Probe({NUMBERS: text.encode()}, tuple(Run(names, 2, 20) for names in tests))


def test_probes_do_not_see_each_other(subject: Subject, tiny_sandbox: Sandbox) -> None:
    mean, clamp = "tests/test_numbers.py::test_mean", "tests/test_numbers.py::test_clamp[5-5]"
    probes = [
        probe(subject, "", "", (mean, clamp)),
        probe(subject, "count += 1", "count += 2", (mean, clamp), (mean,)),
        probe(subject, "return value\n", "return worth\n", (mean, clamp)),
        probe(subject, "count += 1", "count += 2", (clamp,), (mean,)),
        probe(subject, "count += 1", "count -= 1", (mean,)),
        probe(subject, "", "", (mean, clamp)),
    ]
    found = run_warm(tiny_sandbox, subject.tree, subject.recipe, probes, Limits())
    statuses = [
        [[run.statuses[t] for t in asked.tests] for run, asked in zip(runs, item.runs, strict=False)]
        for runs, item in zip(found, probes, strict=True)
    ]
    assert statuses == [
        [[PASSED, PASSED]],
        [[FAILED, PASSED], [FAILED]],
        [[PASSED, FAILED]],
        [[PASSED]],  # a run that passes ends its probe
        [[FAILED]],
        [[PASSED, PASSED]],
    ]
    failure = found[2][0].failures[clamp]
    assert (failure.exception, failure.message) == ("NameError", "name 'worth' is not defined")
    assert [(frame.path, frame.function) for frame in failure.frames] == [
        ("tests/test_numbers.py", "test_clamp"),
        (NUMBERS, "clamp"),
    ]


def test_nothing_to_do(subject: Subject, tiny_sandbox: Sandbox) -> None:
    assert run_warm(tiny_sandbox, subject.tree, subject.recipe, [], Limits()) == []


def test_a_test_that_vanishes_is_missing(subject: Subject, tiny_sandbox: Sandbox) -> None:
    (runs,) = run_warm(
        tiny_sandbox,
        subject.tree,
        subject.recipe,
        [probe(subject, "def mean", "def average", ("tests/test_numbers.py::test_mean",))],
        Limits(),
    )
    assert runs[0].statuses["tests/test_numbers.py::test_mean"] in (TestStatus.ERROR, MISSING)
    assert runs[0].failures["tests/test_numbers.py"].phase == "collect"
