"""`dvc.yaml` and `prefect.yaml` say what the code says."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect import Flow

from components.graph import STEPS, needed
from components.params import load_params

ROOT = Path(__file__).parents[2]


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / name).read_text())
    return loaded


def test_dvc_yaml_mirrors_the_graph() -> None:
    stages = read("dvc.yaml")["stages"]
    assert list(stages) == [step.name for step in STEPS]
    for step in STEPS:
        stage = stages[step.name]
        assert stage["cmd"].startswith(f"flywheel stage {step.name} ")
        assert stage.get("deps", []) == [f"stages/{source}.json" for source in step.inputs.values()]
        assert step.config in stage["params"]
        assert set(stage["params"]) <= set(read("params.yaml"))


def test_every_step_comes_after_what_it_reads() -> None:
    for index, step in enumerate(STEPS):
        assert set(step.inputs.values()) <= {earlier.name for earlier in STEPS[:index]}
        assert needed(step)[-1] == step


@pytest.mark.parametrize("profile", ["default", "smoke", "nightly"])
def test_profiles_are_valid(profile: str) -> None:
    params = load_params(ROOT / "params.yaml", profile)
    assert params.evaluate.scaffold == params.distill.scaffold == params.scaffold


DEPLOYMENTS = read("prefect.yaml")["deployments"]


def test_there_is_a_deployment_for_every_flow() -> None:
    flows = {path.stem for path in (ROOT / "flows").glob("*.py")} - {"__init__", "runner", "requests"}
    assert {entry["entrypoint"].split("/")[1].split(".")[0] for entry in DEPLOYMENTS} == flows
    assert len({entry["name"] for entry in DEPLOYMENTS}) == len(DEPLOYMENTS) == len(flows) + 1


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=lambda entry: str(entry["name"]))
def test_parameters_fit_the_flow(deployment: dict[str, Any]) -> None:
    path, _, name = deployment["entrypoint"].partition(":")
    flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
    assert isinstance(flow, Flow)
    flow.validate_parameters(deployment.get("parameters", {}))
    assert set(flow.parameters.properties) >= set(deployment.get("parameters", {}))
    assert flow.retries == 0  # a deployment limit and flow retries do not go together (Prefect issue 22885)


def test_the_nightly_runs_in_utc_one_at_a_time() -> None:
    nightly = next(entry for entry in DEPLOYMENTS if entry["name"] == "nightly")
    assert [schedule["timezone"] for schedule in nightly["schedules"]] == ["UTC"]
    assert nightly["concurrency_limit"] == {"limit": 1, "collision_strategy": "CANCEL_NEW"}


@pytest.mark.parametrize(
    ("module", "banned"),
    [
        ("flows.iteration", ("torch", "transformers", "great_expectations", "ray", "vllm")),
        ("components.cli", ("torch", "prefect", "mlflow", "pyarrow", "pandas", "plotly")),
        ("components.training.job", ("torch", "prefect", "mlflow")),
    ],
)
def test_importing_is_light(module: str, banned: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*[m for m in {banned!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == []
