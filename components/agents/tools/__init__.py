"""The tools of the scaffold, one file each."""

from collections.abc import Mapping

from components.agents.tools.base import Outcome, Parameter, Tool, ToolContext
from components.agents.tools.bash import BashTool
from components.agents.tools.edit import EditTool
from components.agents.tools.search import SearchTool
from components.agents.tools.submit import SubmitTool
from components.agents.tools.test import TestTool
from components.agents.tools.view import ViewTool

_ALL: tuple[Tool, ...] = (SearchTool(), ViewTool(), EditTool(), BashTool(), TestTool(), SubmitTool())
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
"""Every tool by name."""

__all__ = ["TOOLS", "Outcome", "Parameter", "Tool", "ToolContext"]
