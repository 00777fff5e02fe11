"""What identifies a scaffold: its configuration, limits, prompt and tools, as one digest."""

import hashlib

from pydantic import JsonValue

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.prompt import system_prompt
from components.agents.tools import TOOLS
from components.agents.tools.base import json_schema
from components.records.base import canonical_json

BEHAVIOUR = 3
"""Raised when what tools answer, or when turns are taken back, changes."""


def tool_schemas(scaffold: ScaffoldConfig) -> tuple[dict[str, JsonValue], ...]:
    """JSON schemas of the tools offered."""
    return tuple(json_schema(TOOLS[name]) for name in scaffold.tools)


def scaffold_digest(scaffold: ScaffoldConfig, limits: AgentLimits) -> str:
    """sha256 over everything about a scaffold that a rollout depends on."""
    described: JsonValue = {
        "behaviour": BEHAVIOUR,
        "config": scaffold.model_dump(mode="json"),
        "limits": limits.model_dump(mode="json"),
        "prompt": system_prompt(scaffold),
        "tools": list(tool_schemas(scaffold)),
    }
    return hashlib.sha256(canonical_json(described).encode()).hexdigest()
