"""Which sandbox, and its limits."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from components.sandbox.base import Limits


class SandboxConfig(BaseModel):
    """How code that we do not trust is run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["bubblewrap", "docker", "process"] = Field(
        default="bubblewrap",
        description="`process` isolates nothing: for code that you trust, on a machine you can lose.",
    )
    limits: Limits = Field(default=Limits(), description="What one command may use, unless a stage says.")
    uid: int = Field(
        default=65210,
        ge=1,
        description="bubblewrap as root: the host user that commands run as, used by nothing else.",
    )
    docker_image: str = Field(
        default="flywheel-base:bookworm", description="A Linux base image; see infra/docker-base.sh."
    )
