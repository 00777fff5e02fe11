"""Models behind one protocol: `openai`, `local`, `oracle`, `scripted`."""

from collections.abc import Callable, Mapping, Sequence

from components.agents.models.base import Model
from components.agents.models.config import LocalConfig, ModelConfig, OpenAIConfig, OracleConfig
from components.records.task import Task

__all__ = ["Model", "make_model"]


def make_model(
    config: ModelConfig,
    *,
    tasks: Sequence[Task] = (),
    buggy: Callable[[Task], Mapping[str, bytes]] | None = None,
) -> Model:
    """The model that a configuration describes. Heavy imports happen here, for the kind that needs them.

    Args:
        config: Which model.
        tasks: What the oracle shall know.
        buggy: Files of a task that the bug changed, for the oracle.
    """
    if isinstance(config, OracleConfig):
        from components.agents.models.oracle import OracleModel

        if buggy is None:
            raise TypeError("the oracle needs the buggy files of its tasks")
        return OracleModel(tasks, buggy, config)
    if isinstance(config, LocalConfig):
        from components.agents.models.local import LocalModel

        return LocalModel(config)
    if isinstance(config, OpenAIConfig):
        from components.agents.models.openai import OpenAIModel

        return OpenAIModel(config)
    from components.agents.models.scripted import ScriptedModel

    return ScriptedModel.from_config(config)
