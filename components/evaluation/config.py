"""What the evaluation stage may be told."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.models.config import LocalConfig, ModelConfig
from components.sandbox.config import SandboxConfig

Suite = Literal["heldout", "heldout_repo"]
Setting = Literal["visible", "hidden"]


class EvaluateConfig(BaseModel):
    """Which held-out tasks, in which setting, how often, and by which scaffold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    suites: tuple[Suite, ...] = Field(
        ("heldout", "heldout_repo"), description="Functions, and repositories, that are never trained on"
    )
    settings: tuple[Setting, ...] = Field(
        ("visible", "hidden"), description="`visible`: the failing tests are in the agent's tree"
    )
    attempts: int = Field(1, ge=1, description="Rollouts a task; pass@k is estimated for every k up to it")
    max_tasks: int = Field(0, ge=0, description="Tasks a suite, by hash order; 0: all")
    model: ModelConfig = Field(
        LocalConfig(), description="How the checkpoint is run; its folder and digest are filled in"
    )
    scaffold: ScaffoldConfig = ScaffoldConfig()
    limits: AgentLimits = AgentLimits()
    sandbox: SandboxConfig = SandboxConfig()
    concurrency: int = Field(128, ge=1, description="Most rollouts at once, and in one resumable shard")
    workers: int = Field(
        2, ge=1, description="Threads for tools and grading", json_schema_extra={"affects_output": False}
    )
    seed: int = 0
