"""Running code that we do not trust."""

from typing import TYPE_CHECKING

from components.records.errors import ConfigError

if TYPE_CHECKING:
    from components.sandbox.base import Sandbox
    from components.sandbox.config import SandboxConfig


def make_sandbox(config: "SandboxConfig") -> "Sandbox":
    """The sandbox that the parameters name. Imports only the one asked for."""
    if config.kind != "bubblewrap":
        raise ConfigError("sandbox.kind", config.kind, "bubblewrap")
    from components.sandbox.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox(config)
