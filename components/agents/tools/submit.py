"""`submit`: the end."""

from collections.abc import Mapping

from components.agents.tools.base import Outcome, Parameter, ToolContext


class SubmitTool:
    """Ends the rollout; the patch is what the sandbox then holds."""

    name = "submit"
    description = "Submit the repository as it is now."
    parameters: tuple[Parameter, ...] = ()

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """End the rollout."""
        return Outcome("", done=True)
