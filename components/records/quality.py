"""What the gates say."""

from typing import Literal

from components.records.base import Record


class Verdict(Record):
    """The result of one expectation on one dataset. An expectation that errors fails closed."""

    gate: str
    expectation: str
    severity: Literal["block", "warn"]
    outcome: Literal["pass", "fail", "error"]
    checked: int
    """Rows looked at."""
    offending: tuple[str, ...] = ()
    """Row ids."""
    detail: str = ""
    waiver: str = ""


class Quarantined(Record):
    """A row kept out of training, and why."""

    row_id: str
    parent_id: str
    reasons: tuple[str, ...]
