"""What the distillation stage may be told."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.models.config import ModelConfig, OracleConfig
from components.records.task import Split
from components.sandbox.config import SandboxConfig


class DistillConfig(BaseModel):
    """Which teacher rolls out which tasks, how often, and what of it is kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: ModelConfig = Field(OracleConfig(), description="The teacher; a local one is the checkpoint given")
    splits: tuple[Split, ...] = Field(("train",), description="Tasks to roll out; never held-out ones")
    settings: tuple[Literal["visible", "hidden"], ...] = Field(
        ("visible",), description="`visible`: the failing tests are in the agent's tree"
    )
    hidden_share: float = Field(
        1.0, ge=0, le=1, description="Share of the tasks, by hash, that are rolled out in the hidden setting"
    )
    attempts: int = Field(1, ge=1, description="Rollouts a task and setting")
    per_task: int = Field(
        2, ge=1, description="Trajectories kept a task and setting: resolved ones first, then the shortest"
    )
    max_tasks: int = Field(0, ge=0, description="Tasks, by hash order; 0: all")
    scaffold: ScaffoldConfig = ScaffoldConfig()
    limits: AgentLimits = AgentLimits()
    sandbox: SandboxConfig = SandboxConfig()
    shard_tasks: int = Field(32, ge=1, description="Tasks in one resumable shard")
    concurrency: int = Field(32, ge=1, description="Rollouts open at once")
    workers: int = Field(
        2, ge=1, description="Threads for tools and grading", json_schema_extra={"affects_output": False}
    )
    seed: int = Field(0, description="Decides which tasks `max_tasks` picks")
