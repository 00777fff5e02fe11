"""What the analysis stage may be told."""

from pydantic import BaseModel, ConfigDict, Field


class AnalyseConfig(BaseModel):
    """Bootstrap of the paired difference, and how hard the next mix leans on what is learnable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resamples: int = Field(10_000, ge=100, description="Bootstrap resamples over tasks")
    floor: float = Field(0.05, gt=0, description="Weight that a stratum keeps however easy or hard it is")
    seed: int = 0
