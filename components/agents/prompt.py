"""The system prompt: what the tools are and how to call them."""

from collections.abc import Sequence

from components.agents.config import ScaffoldConfig
from components.agents.tools import TOOLS, Tool

_SHORT = """\
Fix the bug. Reply with one call:
<function=NAME>
<parameter=KEY>VALUE</parameter>
</function>
Tools: {tools}"""
_FULL = """\
You fix bugs in a Python repository. Each of your replies holds exactly one tool call, after at most one \
line of thought:

<function=NAME>
<parameter=KEY>VALUE</parameter>
</function>

Values are taken literally: no quotes, no escapes, spaces and line ends count, and a line break after \
<parameter=KEY> or before </parameter> is part of the value. For `edit` use whole lines.

Tools (? marks an optional parameter):
{tools}

Find the bug, fix it with the smallest change, check it with the tests and submit. Do not change tests."""


def system_prompt(scaffold: ScaffoldConfig) -> str:
    """The system message of a scaffold."""
    tools = [TOOLS[name] for name in scaffold.tools]
    if scaffold.prompt == "short":
        return _SHORT.format(tools=" ".join(_signature(tool) for tool in tools))
    return _FULL.format(tools=_described(tools))


def _signature(tool: Tool) -> str:
    return f"{tool.name}({','.join(item.name + ('' if item.required else '?') for item in tool.parameters)})"


def _described(tools: Sequence[Tool]) -> str:
    lines: list[str] = []
    for tool in tools:
        lines.append(f"- {_signature(tool)}: {tool.description}")
        lines.extend(f"    {item.name}: {item.description}" for item in tool.parameters)
    return "\n".join(lines)
