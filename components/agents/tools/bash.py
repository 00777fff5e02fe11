"""`bash`: any command, in the sandbox."""

from collections.abc import Mapping

from components.agents.text import clipped, stable
from components.agents.tools.base import Outcome, Parameter, ToolContext


class BashTool:
    """Runs a command with `/bin/sh`. Each command gets a shell of its own, in the repository's root."""

    name = "bash"
    description = "Run a shell command in the root of the repository."
    parameters = (Parameter("command", "The command."),)

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Run the command; a non-zero exit code is no error of the call, a time-out is."""
        result = context.session.exec(
            ["/bin/sh", "-c", arguments["command"]], timeout=context.limits.bash_seconds
        )
        context.checks.changed(None)
        output = result.stdout + (f"\n{result.stderr}" if result.stdout and result.stderr else result.stderr)
        output = stable(clipped(output.strip("\n"), context.scaffold.output_chars))
        if result.timed_out:
            text = f"timed out after {context.limits.bash_seconds:g} s"
            return Outcome(f"{output}\n{text}".lstrip("\n"), f"timeout: {text}")
        if result.killed:
            return Outcome(f"{output}\nkilled: {result.killed}".lstrip("\n"), f"killed: {result.killed}")
        if result.exit_code:
            output = f"{output}\nexit code {result.exit_code}".lstrip("\n")
        return Outcome(output or "(no output)")
