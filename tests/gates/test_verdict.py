"""What findings lead to. Great Expectations is not needed for that."""

from datetime import date
from typing import Literal

import pytest

from components.gates.config import GatesConfig, Waiver
from components.gates.suite import Finding, Gate
from components.gates.verdict import blocks, check_names, enforce, judge, quarantine
from components.records.errors import ConfigError, InputError

ROW = Gate("licence", "block", "row", "ExpectColumnValuesToBeInSet", {"column": "licence_permissive"})
WHOLE = Gate("min_rows", "block", "dataset", "ExpectTableRowCountToBeBetween")
SOFT = Gate("resolved_rate", "warn", "dataset", "ExpectColumnMeanToBeBetween")


def finding(gate: Gate, outcome: Literal["pass", "fail", "error"], *offending: str) -> Finding:
    return Finding(gate, "suite", outcome, 10, offending, "because")


def consequences(config: GatesConfig, *findings: Finding) -> dict[str, tuple[str, ...]]:
    verdicts = judge(findings, config)
    enforce(verdicts, findings, "the docs")
    return quarantine(verdicts, findings)


def test_a_failed_row_gate_sets_its_rows_aside_in_the_order_of_the_gates() -> None:
    other = Gate("hacks", "block", "row", "ExpectColumnValuesToBeBetween")
    found = consequences(GatesConfig(), finding(ROW, "fail", "a", "b"), finding(other, "fail", "b"))
    assert found == {"a": ("licence",), "b": ("licence", "hacks")}


def test_a_failed_dataset_gate_stops_and_names_itself_and_the_count() -> None:
    with pytest.raises(InputError, match=r"min_rows failed on 10 of 10 rows \(because\).*the docs"):
        consequences(GatesConfig(), finding(WHOLE, "fail"))


def test_a_warning_has_no_consequence() -> None:
    assert consequences(GatesConfig(), finding(SOFT, "fail")) == {}


def test_severity_can_be_changed_both_ways() -> None:
    soft = GatesConfig(severities={"licence": "warn", "min_rows": "warn"})
    assert consequences(soft, finding(ROW, "fail", "a"), finding(WHOLE, "fail")) == {}
    with pytest.raises(InputError, match="resolved_rate"):
        consequences(GatesConfig(severities={"resolved_rate": "block"}), finding(SOFT, "fail"))


def test_a_waiver_lets_a_failure_pass_until_it_ends() -> None:
    waived = GatesConfig(waivers=(Waiver(gate="min_rows", reason="pilot, Ada", expires=date(2999, 1, 1)),))
    assert consequences(waived, finding(WHOLE, "fail")) == {}
    (verdict,) = judge([finding(WHOLE, "fail")], waived)
    assert verdict.waiver == "pilot, Ada (until 2999-01-01)" and not blocks(verdict)

    ended = GatesConfig(waivers=(Waiver(gate="min_rows", reason="pilot, Ada", expires=date(2020, 1, 1)),))
    with pytest.raises(InputError, match="the waiver ended on 2020-01-01"):
        consequences(ended, finding(WHOLE, "fail"))


def test_a_waiver_of_a_gate_that_passes_is_not_mentioned() -> None:
    waived = GatesConfig(waivers=(Waiver(gate="min_rows", reason="pilot", expires=date(2999, 1, 1)),))
    (verdict,) = judge([finding(WHOLE, "pass")], waived)
    assert verdict.waiver == ""


def test_the_end_of_a_waiver_changes_the_parameters() -> None:
    told = {"gate": "min_rows", "reason": "pilot", "expires": "2020-01-01"}
    ended = GatesConfig.model_validate({"waivers": [told]})
    held = GatesConfig.model_validate({"waivers": [{**told, "expires": "2999-01-01"}]})
    assert (ended.waivers[0].active, held.waivers[0].active) == (False, True)
    assert GatesConfig.model_validate(held.model_dump(mode="json")) == held


def test_names_of_gates_that_do_not_exist_are_refused() -> None:
    known = {"licence": 1}
    with pytest.raises(ConfigError, match=r"gates\.severities: 'licences'.*allowed: licence"):
        check_names(GatesConfig(severities={"licences": "warn"}), known)
    waiver = Waiver(gate="lisence", reason="x", expires=date(2999, 1, 1))
    with pytest.raises(ConfigError, match=r"gates\.waivers\[0\]\.gate: 'lisence'"):
        check_names(GatesConfig(waivers=(waiver,)), known)
