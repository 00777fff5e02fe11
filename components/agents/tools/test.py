"""`test`: run tests, tell the result in two or three lines."""

from collections.abc import Mapping

from components.agents.tools.base import Outcome, Parameter, ToolContext


class TestTool:
    """Runs the failing tests that the task names, or any others."""

    __test__ = False  # not for pytest to collect
    name = "test"
    description = "Run tests; without argument, the failing tests named by the task."
    parameters = (Parameter("tests", "Test ids or files, separated by spaces.", required=False),)

    def run(self, arguments: Mapping[str, str], context: ToolContext) -> Outcome:
        """Run tests. That tests fail is no error of the call."""
        tests = tuple(arguments.get("tests", "").split()) or context.failing
        if not tests:
            return Outcome.failure("no_tests", "the failing tests are not known; name tests or files")
        report = context.checks.run(tests)
        if report.nothing:
            return Outcome.failure("no_tests", f"nothing to run: {report.summary}")
        return Outcome(report.text(), cached=report.cached)
