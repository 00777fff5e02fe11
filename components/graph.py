"""The graph of one iteration as data: which stage, with which configuration, reads what.

Prefect flows, the plain runner, `dvc.yaml` and the audit all read this one table.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from components.params import Params
from components.store.dataset import Dataset
from components.store.stage import execute
from components.store.store import Store


@dataclass(frozen=True)
class Step:
    """One node."""

    name: str
    stage: str
    """`module:class`, imported when it runs."""
    config: str
    """Key of its section in `Params`."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name that the stage knows an input by -> step that makes it."""
    optional: Mapping[str, str] = field(default_factory=dict)
    """The same, left out where there is none: outside inputs such as the last iteration's mix."""
    title: str = ""


STEPS: tuple[Step, ...] = (
    Step("repositories", "components.repos.stage:RepositoriesStage", "repositories", title="Repositories"),
    Step(
        "synthesis",
        "components.synthesis.stage:SynthesisStage",
        "synthesis",
        {"repositories": "repositories"},
        {"mix": "previous_analysis"},
        title="Synthesis",
    ),
    Step(
        "validation",
        "components.validation.stage:ValidationStage",
        "validation",
        {"repositories": "repositories", "candidates": "synthesis"},
        title="Validation",
    ),
    Step(
        "distill",
        "components.distill.stage:DistillStage",
        "distill",
        {"repositories": "repositories", "tasks": "validation"},
        title="Distillation",
    ),
    Step(
        "gates",
        "components.gates.stage:GatesStage",
        "gates",
        {"repositories": "repositories", "tasks": "validation", "trajectories": "distill"},
        title="Gates",
    ),
    Step(
        "curate",
        "components.curate.stage:CurateStage",
        "curate",
        {"gates": "gates", "tasks": "validation"},
        title="Curation",
    ),
    Step("base_model", "components.training.base_model:BaseModelStage", "base_model", title="Base model"),
    Step(
        "train",
        "components.training.stage:TrainStage",
        "train",
        {"base": "base_model", "examples": "curate"},
        title="Training",
    ),
    Step(
        "evaluate_base",
        "components.evaluation.stage:EvaluateStage",
        "evaluate",
        {"repositories": "repositories", "tasks": "validation", "checkpoint": "base_model"},
        title="Evaluation of the base model",
    ),
    Step(
        "evaluate_trained",
        "components.evaluation.stage:EvaluateStage",
        "evaluate",
        {"repositories": "repositories", "tasks": "validation", "checkpoint": "train"},
        title="Evaluation of the trained model",
    ),
    Step(
        "analyse",
        "components.analysis.stage:AnalyseStage",
        "analyse",
        {"tasks": "validation", "base": "evaluate_base", "trained": "evaluate_trained"},
        title="Analysis",
    ),
)

EVALUATE_INCUMBENT = Step(
    "evaluate_incumbent",
    "components.evaluation.stage:EvaluateStage",
    "evaluate",
    {"repositories": "repositories", "tasks": "validation", "checkpoint": "incumbent"},
    title="Evaluation of the champion",
)
COMPARE_INCUMBENT = Step(
    "compare_incumbent",
    "components.analysis.stage:AnalyseStage",
    "analyse",
    {"tasks": "validation", "base": "evaluate_incumbent", "trained": "evaluate_trained"},
    title="Comparison with the champion",
)


def find_step(name: str) -> Step:
    """The step of that name.

    Raises:
        KeyError: there is none.
    """
    return {step.name: step for step in (*STEPS, EVALUATE_INCUMBENT, COMPARE_INCUMBENT)}[name]


def needed(target: Step) -> list[Step]:
    """A step and all that it reads, in the order in which they run."""
    wanted = {target.name}
    for step in reversed(STEPS):
        if step.name in wanted:
            wanted |= set(step.inputs.values())
    return [step for step in STEPS if step.name in wanted]


def run_step(step: Step, params: Params, store: Store, datasets: Mapping[str, Dataset]) -> Dataset:
    """Run one step on the datasets made so far, or find its result in the store."""
    inputs = {name: datasets[source] for name, source in step.inputs.items()}
    inputs |= {name: datasets[source] for name, source in step.optional.items() if source in datasets}
    module, _, cls = step.stage.partition(":")
    if step.name == "repositories":
        return _with_trees(step, params, store)
    stage: Any = getattr(import_module(module), cls)()
    return execute(stage, getattr(params, step.config), inputs, store)


def _with_trees(step: Step, params: Params, store: Store) -> Dataset:
    """Repositories leave trees and environments in the workspace: make them again where only the rows are."""
    from components.repos.stage import RepositoriesStage
    from components.repos.trees import ensure_trees

    made = execute(RepositoriesStage(), params.repositories, {}, store)
    ensure_trees(store.workspace, made)
    return made
