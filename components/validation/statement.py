"""Problem statements, written by template from what the failing tests show.

Short on purpose: the student reads them with 135 million parameters. Which wording a task gets depends on
its id alone. See `leak` for what a statement may not say.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from jinja2 import Environment, StrictUndefined, Template

from components.validation.evidence import Evidence
from components.validation.split import unit

_EVIDENCE = """\
{{ raised }}
{% if frames %}
Traceback:
{% for frame in frames %}
  {{ frame }}
{% endfor %}
{% endif %}
{% if functions %}
Functions that the failing {{ tests|length > 1 and "tests" or "test" }} run{{ tests|length == 1 and "s" or "" }}:
{% for frame in functions %}
  {{ frame }}
{% endfor %}
{% endif %}
"""
_VISIBLE = (
    """\
{{ tests|length > 1 and "These tests fail:" or "This test fails:" }}
{% for test in tests %}
  {{ test }}
{% endfor %}
"""
    + _EVIDENCE
    + "Find the bug in `{{ package }}` and fix it.\n",
    """\
There is a bug in `{{ package }}`. Failing {{ tests|length > 1 and "tests" or "test" }}:
{% for test in tests %}
  {{ test }}
{% endfor %}
"""
    + _EVIDENCE
    + "Fix the code, not the tests.\n",
    """\
`{{ package }}` no longer passes its tests:
{% for test in tests %}
  {{ test }}
{% endfor %}
"""
    + _EVIDENCE
    + "Fix the bug.\n",
)
_HIDDEN = (
    """\
{% if subject %}`{{ subject }}`{% else %}`{{ package }}`{% endif %} {{ symptom }}
{% if frames %}
Traceback:
{% for frame in frames %}
  {{ frame }}
{% endfor %}
{% endif %}
Find the bug in `{{ package }}` and fix it.
""",
    """\
There is a bug in `{{ package }}`: {% if subject %}`{{ subject }}`{% else %}it{% endif %} {{ symptom }}
{% if frames %}
Traceback:
{% for frame in frames %}
  {{ frame }}
{% endfor %}
{% endif %}
Fix it.
""",
)
_JINJA = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
VOCABULARY = frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(_VISIBLE + _HIDDEN))) | frozenset(
    ["raises", "gives", "a", "wrong", "result", "does", "not", "hold", "fails", "raise"]
)
"""Words that the templates bring in: no evidence, so no leak."""


@dataclass(frozen=True)
class Budget:
    """How long a statement may be."""

    tests: int
    frames: int
    functions: int
    characters: int
    """About three to a token of SmolLM2 for code and paths."""


@cache
def _template(text: str) -> Template:
    return _JINJA.from_string(text)


def _pick(variants: tuple[str, ...], task_id: str, setting: str) -> str:
    return variants[int(unit("statement", setting, task_id) * len(variants))]


def visible_statement(task_id: str, package: str, evidence: Evidence, budget: Budget) -> str:
    """For an agent that has the failing tests in its tree."""
    template = _template(_pick(_VISIBLE, task_id, "visible"))
    text = ""
    for item in _shorter(evidence, budget):
        text = template.render(
            package=package,
            tests=item.tests,
            raised=exception_line(item) or "No details.",
            frames=((item.test_frame,) if item.test_frame else ()) + item.frames,
            functions=() if item.frames else item.functions(budget.functions),
        ).strip()
        if len(text) <= budget.characters:
            break
    return text


def hidden_statement(task_id: str, package: str, evidence: Evidence, budget: Budget) -> str:
    """For an agent that does not know the tests: the symptom only."""
    template = _template(_pick(_HIDDEN, task_id, "hidden"))
    text = ""
    for item in _shorter(evidence, budget):
        text = template.render(
            package=package, subject=_subject(item), symptom=_symptom(item), frames=item.frames
        ).strip()
        if len(text) <= budget.characters:
            break
    return text


def exception_line(evidence: Evidence) -> str:
    """The part of a statement that is quoted from the failing run."""
    return f"{evidence.exception}: {evidence.message}" if evidence.message else evidence.exception


def _shorter(evidence: Evidence, budget: Budget) -> Iterator[Evidence]:
    """The evidence, then less and less of it: the least telling goes first."""
    item = replace(evidence, tests=evidence.tests[: budget.tests], frames=evidence.frames[-budget.frames :])
    yield item
    while len(item.tests) > 1:
        item = replace(item, tests=item.tests[:-1])
        yield item
    if len(item.message) > 100:
        item = replace(item, message=item.message[:97] + "...")
        yield item
    while len(item.frames) > 2:
        item = replace(item, frames=item.frames[1:])
        yield item
    item = replace(item, test_frame=None, suspects=item.suspects[:1], called=item.called[:1])
    yield item
    item = replace(item, message=item.message[:60])
    yield item


def _subject(evidence: Evidence) -> str:
    """Dotted name of the public function that the test called, as a user would name it."""
    for frame in (*evidence.frames, *evidence.called):
        parts = frame.function.split(".")
        if all(not part.startswith("_") or part.endswith("__") for part in parts):
            module = frame.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            return f"{module}.{frame.function}"
    return ""


def _symptom(evidence: Evidence) -> str:
    if evidence.exception == "AssertionError":
        head, assertion, claim = evidence.message.partition("assert ")
        if not head and assertion and " " in claim.removeprefix("not "):
            return f"gives a wrong result: `{claim}` does not hold."
        # A bare truth value says nothing; a message of the test's author may be anything.
        return "gives a wrong result." if assertion or not head else f"gives a wrong result: `{head}`"
    if evidence.exception in ("Failed", "") and "DID NOT RAISE" in evidence.message:
        kinds = re.findall(r"(\w+)(?:'>)?", evidence.message.partition("DID NOT RAISE")[2])
        return f"does not raise{f' `{kinds[-1]}`' if kinds else ''} where it should."
    text = exception_line(evidence)
    return f"raises `{text}`." if text else "fails."
