"""From findings to verdicts, and from verdicts to consequences.

Fails closed: an expectation that errors stops the stage, whatever its severity and whatever is waived,
since nothing is known about what it was to look at.
"""

from collections.abc import Mapping, Sequence

from components.gates.config import GatesConfig
from components.gates.suite import Finding
from components.records.errors import ConfigError, InputError
from components.records.quality import Verdict


def judge(findings: Sequence[Finding], config: GatesConfig) -> list[Verdict]:
    """One verdict per finding, with the severity and the waiver that the parameters give it."""
    waivers = {waiver.gate: waiver for waiver in config.waivers if waiver.active}
    lapsed = {waiver.gate: waiver for waiver in config.waivers if not waiver.active}
    out = []
    for finding in findings:
        gate = finding.gate
        waiver, old = waivers.get(gate.name), lapsed.get(gate.name)
        waived = finding.outcome == "fail" and waiver is not None
        detail = finding.detail
        if finding.outcome == "fail" and old is not None and waiver is None:
            detail = f"{detail} (the waiver ended on {old.expires})"
        out.append(
            Verdict(
                gate=gate.name,
                expectation=f"{finding.suite}.{gate.expectation}({gate.arguments.get('column', '')})",
                severity=config.severities.get(gate.name, gate.severity),
                outcome=finding.outcome,
                checked=finding.checked,
                offending=finding.offending,
                detail=detail,
                waiver=f"{waiver.reason} (until {waiver.expires})" if waived and waiver else "",
            )
        )
    return out


def blocks(verdict: Verdict) -> bool:
    """Does this verdict have a consequence?"""
    if verdict.outcome == "error":
        return True
    return verdict.outcome == "fail" and verdict.severity == "block" and not verdict.waiver


def quarantine(verdicts: Sequence[Verdict], findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """Rows that a failed row-level gate keeps out, each with the gates, in the order of the gates."""
    out: dict[str, list[str]] = {}
    for verdict, finding in zip(verdicts, findings, strict=True):
        if verdict.outcome == "fail" and finding.gate.level == "row" and blocks(verdict):
            for row in verdict.offending:
                out.setdefault(row, []).append(verdict.gate)
    return {row: tuple(gates) for row, gates in out.items()}


def enforce(verdicts: Sequence[Verdict], findings: Sequence[Finding], evidence: str) -> None:
    """Stop at an expectation that errored and at a failed dataset-level gate that blocks.

    Raises:
        InputError: names every such gate, with the number of rows.
    """
    stops = []
    for verdict, finding in zip(verdicts, findings, strict=True):
        if not blocks(verdict) or (verdict.outcome == "fail" and finding.gate.level == "row"):
            continue
        if verdict.outcome == "error":
            stops.append(f"{verdict.gate} could not be evaluated ({verdict.detail.splitlines()[0]})")
            continue
        count = len(verdict.offending) or verdict.checked
        named = f", first {verdict.offending[0]}" if verdict.offending else ""
        stops.append(f"{verdict.gate} failed on {count} of {verdict.checked} rows{named} ({verdict.detail})")
    if stops:
        raise InputError(f"gates: {'; '.join(stops)}. Evidence: {evidence}")


def check_names(config: GatesConfig, known: Mapping[str, object]) -> None:
    """Refuse waivers and severities for gates that do not exist.

    Raises:
        ConfigError: names the key and the gates there are.
    """
    for position, waiver in enumerate(config.waivers):
        if waiver.gate not in known:
            raise ConfigError(f"gates.waivers[{position}].gate", waiver.gate, sorted(known))
    for gate in config.severities:
        if gate not in known:
            raise ConfigError("gates.severities", gate, sorted(known))
