"""What the gates demand. Light to import: nothing but pydantic and records."""

from datetime import UTC, date, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["block", "warn"]

PERMISSIVE = (
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
)
"""SPDX ids of licences that allow training and redistribution with no more than attribution."""


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Waiver(_Config):
    """Lets one failing gate pass for a while. An expectation that errors cannot be waived."""

    gate: str = Field(description="Name of the gate, as in the verdicts, e.g. `resolved_rate`.")
    reason: str = Field(min_length=1, description="Why, and who decided it.")
    expires: date = Field(description="Last day (UTC) on which the waiver holds.")
    active: bool = Field(
        default_factory=lambda data: "expires" in data and datetime.now(UTC).date() <= data["expires"],
        description=(
            "Computed when the parameters are read, so that the stage key changes the day a waiver "
            "expires and a cached verdict never outlives it."
        ),
    )


class DedupConfig(_Config):
    """Exact and near-duplicate removal."""

    threshold: float = Field(
        0.95,
        gt=0,
        le=1,
        description="Jaccard similarity of shingles that makes duplicates.",
    )
    shingle: int = Field(5, ge=1, description="Words per shingle.")
    permutations: int = Field(64, ge=16, description="MinHash permutations; more find more candidate pairs.")


class OverlapConfig(_Config):
    """Contamination of the training side by held-out tasks."""

    statement_threshold: float = Field(
        0.9, gt=0, le=1, description="Jaccard similarity from which two problem statements are the same."
    )
    shingle: int = Field(5, ge=1, description="Words per shingle.")
    permutations: int = Field(64, ge=16, description="MinHash permutations.")


class GatesConfig(_Config):
    """Parameters of the `gates` stage."""

    seed: int = Field(0, description="Breaks ties between duplicates.")
    permissive: tuple[str, ...] = Field(PERMISSIVE, description="SPDX ids whose code may be trained on.")
    require_resolved: bool = Field(True, description="Quarantine what does not resolve its task.")
    require_submit: bool = Field(True, description="Quarantine what does not end with a submission.")
    allow_demonstrators: bool = Field(True, description="Accept actors that knew the gold patch.")
    max_steps: int = Field(100, ge=1, description="Most agent steps of an accepted trajectory.")
    max_tokens: int = Field(32768, ge=1, description="Longest context of an accepted trajectory, in tokens.")
    max_failed_calls: int = Field(20, ge=0, description="Most failed tool calls of an accepted trajectory.")
    max_patch_bytes: int = Field(20000, ge=1, description="Largest accepted patch.")
    min_rows: int = Field(1, ge=1, description="Fewest accepted rows; with fewer the stage stops.")
    min_resolved_rate: float = Field(
        0.2, ge=0, le=1, description="Share of all trajectories that resolve; below it the gate warns."
    )
    max_repository_share: float = Field(
        0.9,
        ge=0,
        le=1,
        description="Share of accepted rows from one repository above which to warn.",
    )
    dedup: DedupConfig = Field(DedupConfig(), description="Duplicate removal.")
    overlap: OverlapConfig = Field(OverlapConfig(), description="Overlap with held-out tasks.")
    severities: dict[str, Severity] = Field({}, description="Gate name to severity, over the built-in one.")
    waivers: tuple[Waiver, ...] = Field((), description="Failing gates that pass for a while.")
