"""Rollouts on the tiny repository."""

from collections.abc import Sequence

from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.loop import run_rollouts
from components.agents.models.base import Model
from components.agents.models.scripted import Script, ScriptedModel
from components.agents.rollout import Job
from components.agents.toolcall import Call, render
from components.records.repository import Recipe
from components.records.task import Task
from components.records.trajectory import Step, Trajectory
from components.sandbox.base import Sandbox, Tree

PATH = "tinylib/numbers.py"
SEARCH, SUBMIT, TEST = render(Call("search")), render(Call("submit")), render(Call("test"))
VIEW = render(Call("view", {"path": PATH, "function": "mean"}))


def edit(old: str, new: str, path: str = PATH) -> str:
    """The text of an edit."""
    return render(Call("edit", {"path": path, "old": old, "new": new}))


def bash(command: str) -> str:
    """The text of a command."""
    return render(Call("bash", {"command": command}))


class Bench:
    """Runs models on tasks of the tiny repository."""

    def __init__(self, sandbox: Sandbox, tree: Tree, recipe: Recipe) -> None:
        self.sandbox, self.tree, self.recipe = sandbox, tree, recipe

    def run(
        self,
        model: Model | Sequence[str] | Script,
        tasks: Sequence[Task],
        *,
        scaffold: ScaffoldConfig | None = None,
        limits: AgentLimits | None = None,
        visible: bool = True,
        attempts: int = 1,
        graded: bool = True,
        concurrency: int = 8,
    ) -> list[Trajectory]:
        """Trajectories sorted by id."""
        actor = ScriptedModel(model) if isinstance(model, Sequence) or callable(model) else model
        jobs = [Job(task, self.recipe, n, visible) for task in tasks for n in range(attempts)]
        done = run_rollouts(
            jobs,
            actor,
            scaffold or ScaffoldConfig(),
            self.sandbox,
            lambda task: self.tree,
            limits,
            concurrency=concurrency,
            graded=graded,
        )
        return sorted(done, key=lambda row: row.id)


def turns(trajectory: Trajectory) -> list[Step]:
    """The model's turns."""
    return [step for step in trajectory.steps if step.source == "agent"]


def seen(trajectory: Trajectory) -> list[str]:
    """What each turn was answered, last observation first of all."""
    return [step.observations[-1].content if step.observations else "" for step in turns(trajectory)]
