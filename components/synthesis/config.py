"""Parameters of the synthesis stage."""

from pydantic import BaseModel, ConfigDict, Field


class SynthesisConfig(BaseModel):
    """Which bugs to propose, and how many."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    """Enters every random choice, together with the content that it is made for."""
    rewriters: tuple[str, ...] = ()
    """Names of the rewriters to use; empty for all."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Rewriter -> its share relative to the others, 1 unless given; 0 leaves it out."""
    max_candidates: int = Field(default=1500, ge=1)
    """Candidates per repository."""
    max_per_function: int = Field(default=10, ge=1)
    """Candidates per function; different rewriters come first."""
    max_lines: int = Field(default=1, ge=1)
    """Lines that a candidate may change. A small student replaces one line far better than two."""
    covered_only: bool = True
    """Propose only where a test runs the line; elsewhere no test could fail."""
    exclude: tuple[str, ...] = ()
    """Glob patterns of files to leave alone, e.g. `*/compat.py`; test files are always left alone."""
    workers: int | None = Field(default=None, ge=1, json_schema_extra={"affects_output": False})
    """Processes; all cores unless given."""
