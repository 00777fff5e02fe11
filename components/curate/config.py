"""How accepted trajectories become training rows. Light to import."""

from pydantic import BaseModel, ConfigDict, Field


class CurateConfig(BaseModel):
    """Parameters of the `curate` stage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(0, description="Orders the examples and chooses those kept under a cap.")
    mask_failed_calls: bool = Field(True, description="Do not train on turns whose tool call failed.")
    max_per_function: int = Field(0, ge=0, description="Most examples per function; 0: no cap.")
    max_per_strategy: int = Field(0, ge=0, description="Most examples per strategy; 0: no cap.")
    max_examples: int = Field(0, ge=0, description="Most examples in all; 0: no cap.")
