"""`params.yaml`, parsed once into a typed tree: profile over defaults, command line over both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from components.agents.config import AgentLimits, ScaffoldConfig
from components.analysis.config import AnalyseConfig
from components.curate.config import CurateConfig
from components.distill.config import DistillConfig
from components.evaluation.config import EvaluateConfig
from components.gates.config import GatesConfig
from components.records.errors import ConfigError
from components.repos.config import RepositoriesConfig
from components.sandbox.config import SandboxConfig
from components.synthesis.config import SynthesisConfig
from components.training.config import BaseModelConfig, TrainConfig
from components.validation.config import ValidationConfig

_SHARED = {
    "seed": (
        *("repositories", "synthesis", "validation", "gates", "curate"),
        *("base_model", "train", "evaluate", "analyse"),
    ),
    "sandbox": ("repositories", "validation", "distill", "evaluate"),
    "scaffold": ("distill", "evaluate"),
    "limits": ("distill", "evaluate"),
}
"""Top-level keys that are the default of the same key of these stages."""


class PublishConfig(BaseModel):
    """Where datasets and models are registered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    remote: str = Field("", description="DVC remote: s3://bucket/prefix or a folder; empty: in the workspace")
    endpoint_url: str = Field("", description="Of an S3-compatible remote; empty: AWS")
    mlflow_uri: str = Field("", description="MLflow tracking server; empty: sqlite in the workspace")
    experiment: str = Field("flywheel", description="MLflow experiment of the training runs")
    registered_model: str = Field("swe-agent", description="Name in MLflow's registry; holds alias champion")


class Params(BaseModel):
    """Everything a run may be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workspace: str = Field(".flywheel", description="Folder of all local state")
    store: str = Field("", description="s3://bucket/prefix; empty: a folder in the workspace")
    seed: int = Field(0, description="Default seed of every stage")
    sandbox: SandboxConfig = SandboxConfig()
    scaffold: ScaffoldConfig = ScaffoldConfig()
    limits: AgentLimits = AgentLimits()
    repositories: RepositoriesConfig
    synthesis: SynthesisConfig = SynthesisConfig()
    validation: ValidationConfig = ValidationConfig()
    distill: DistillConfig = DistillConfig()
    gates: GatesConfig = GatesConfig()
    curate: CurateConfig = CurateConfig()
    base_model: BaseModelConfig = BaseModelConfig()
    train: TrainConfig = TrainConfig()
    evaluate: EvaluateConfig = EvaluateConfig()
    analyse: AnalyseConfig = AnalyseConfig()
    publish: PublishConfig = PublishConfig()


def load_params(path: Path, profile: str = "", overrides: Sequence[str] = ()) -> Params:
    """Read parameters.

    Args:
        path: The YAML file of defaults.
        profile: Name of a file in the folder `params/` beside it, or empty.
        overrides: `dotted.key=value`, the value in YAML, e.g. `train.epochs=1`.

    Raises:
        ConfigError: names the first wrong key, its value and what is allowed.
    """
    raw = _read(path)
    if profile and profile != "default":
        folder = path.parent / "params"
        file = folder / f"{profile}.yaml"
        if not file.is_file():
            known = sorted(found.stem for found in folder.glob("*.yaml"))
            raise ConfigError("profile", profile, ["default", *known])
        raw = _merge(raw, _read(file))
    for override in overrides:
        key, sign, value = override.partition("=")
        if not sign:
            raise ConfigError("--set", override, "dotted.key=value, e.g. train.epochs=1")
        nested: Any = yaml.safe_load(value)
        for part in reversed(key.split(".")):
            nested = {part: nested}
        raw = _merge(raw, nested)
    return parse_params(raw)


def parse_params(raw: Mapping[str, Any]) -> Params:
    """Parameters from a nested mapping; shared keys are passed down to the stages."""
    filled = dict(raw)
    for key, stages in _SHARED.items():
        if key not in raw:
            continue
        for stage in stages:
            section = filled.get(stage) or {}
            if isinstance(section, Mapping):
                filled[stage] = {key: raw[key], **section}
    try:
        return Params.model_validate(filled)
    except ValidationError as error:
        raise _explain(error) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise ConfigError(
            "params", str(path), "an existing YAML file", "Run from the repository's root."
        ) from None
    except yaml.YAMLError as error:
        line = " ".join(str(error).split())
        raise ConfigError("params", str(path), "valid YAML", line) from None
    if not isinstance(loaded, dict):
        raise ConfigError("params", str(path), "a mapping of keys to values")
    return loaded


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _explain(error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return ConfigError(key, first["input"], _siblings(first["loc"]), "Unknown key.")
    if first["type"] == "missing":
        return ConfigError(key, None, "a value; this key is required")
    return ConfigError(key, first["input"], first["msg"])


def _siblings(location: Sequence[int | str]) -> list[str]:
    """Keys that are known where an unknown one stands."""
    model: Any = Params
    for part in location[:-1]:
        info = getattr(model, "model_fields", {}).get(part)
        if info is None:
            return ["see docs/parameters.md"]
        model = info.annotation
    return sorted(getattr(model, "model_fields", {})) or ["see docs/parameters.md"]
