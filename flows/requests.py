"""Typed parameters of the flows: the Prefect UI renders them as forms."""

from pydantic import BaseModel, ConfigDict, Field


class RunRequest(BaseModel):
    """Which parameters a run uses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: str = Field("default", description="A file of params/: smoke, nightly; or default")
    overrides: list[str] = Field(
        default_factory=list, description="dotted.key=value, e.g. train.epochs=1, in YAML"
    )
    params_file: str = Field("params.yaml", description="The parameter tree")


class IterationRequest(RunRequest):
    """Which iteration to run."""

    iteration: int = Field(0, ge=0, description="Its number; 0: the newest again, or the first")
    following: bool = Field(False, description="Begin the iteration after the newest")


class StageRequest(IterationRequest):
    """Which iteration a single stage belongs to."""
