"""Running code that we do not trust."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.sandbox.base import Sandbox
    from components.sandbox.config import SandboxConfig


def make_sandbox(config: "SandboxConfig") -> "Sandbox":
    """The sandbox that the parameters name. Imports only the one asked for."""
    if config.kind == "docker":
        from components.sandbox.docker import DockerSandbox

        return DockerSandbox(config)
    if config.kind == "process":
        from components.sandbox.process import ProcessSandbox

        return ProcessSandbox(config)
    from components.sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(config)
