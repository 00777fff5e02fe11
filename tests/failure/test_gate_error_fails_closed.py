"""An expectation that cannot be evaluated stops the stage: it never counts as passed.

great_expectations PR 12097 is such an error on filtered frames; a renamed column is another.
"""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from components.gates.config import GatesConfig, Waiver
from components.gates.suite import Finding, Gate, Validator
from components.gates.verdict import enforce, judge
from components.records.errors import InputError

FRAME = pd.DataFrame(
    {
        "id": ["a", "b", "c"],
        "licensed": [True, False, True],
        "half": [1.0, None, 2.0],
        "text": ["x", "y", "z"],
    },
    index=[7, 3, 9],  # as a filter leaves it
)
IN_SET, BETWEEN = "ExpectColumnValuesToBeInSet", "ExpectColumnValuesToBeBetween"
GATES = (
    Gate("fine", "block", "row", IN_SET, {"column": "text", "value_set": ["x", "y", "z"]}),
    Gate("bad", "block", "row", IN_SET, {"column": "licensed", "value_set": [True]}),
    Gate("no_column", "block", "row", IN_SET, {"column": "licence", "value_set": [True]}),
    Gate("no_column_warn", "warn", "row", IN_SET, {"column": "licence", "value_set": [True]}),
    Gate("nulls", "block", "row", BETWEEN, {"column": "half", "min_value": 0, "max_value": 9}),
    Gate("no_numbers", "block", "dataset", "ExpectColumnMeanToBeBetween", {"column": "text", "min_value": 0}),
)


@pytest.fixture(scope="module")
def findings(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    with Validator(tmp_path_factory.mktemp("docs")) as validator:
        return validator.run("suite", FRAME, GATES)


def named(findings: Sequence[Finding], name: str) -> list[Finding]:
    return [finding for finding in findings if finding.gate.name == name]


def test_outcomes(findings: list[Finding]) -> None:
    assert {finding.gate.name: finding.outcome for finding in findings} == {
        "fine": "pass",
        "bad": "fail",
        "no_column": "error",
        "no_column_warn": "error",
        "nulls": "error",
        "no_numbers": "error",
    }
    assert named(findings, "bad")[0].offending == ("b",)


@pytest.mark.parametrize("name", ["no_column", "no_column_warn", "nulls", "no_numbers"])
def test_an_error_stops_whatever_the_severity_and_the_waiver(
    findings: list[Finding], name: str, tmp_path: Path
) -> None:
    waiver = Waiver.model_validate({"gate": name, "reason": "please", "expires": "2999-01-01"})
    config = GatesConfig(waivers=(waiver,), severities={name: "warn"})
    failing = named(findings, name)
    with pytest.raises(InputError, match=f"{name} could not be evaluated") as caught:
        enforce(judge(failing, config), failing, str(tmp_path))
    assert "\n" not in str(caught.value)
