"""Configuration of models. Imports nothing heavy: the classes it configures do."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Config(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class OracleConfig(_Config):
    """The demonstrator: walks to the gold patch through the real tools."""

    kind: Literal["oracle"] = "oracle"
    test_before_submit: bool = Field(True, description="Run `test` once more before `submit`.")


class ScriptedConfig(_Config):
    """Replies written down in advance, for tests."""

    kind: Literal["scripted"] = "scripted"
    replies: tuple[str, ...] = Field((), description="One turn each, the same for every rollout.")


class LocalConfig(_Config):
    """transformers in this process, batched over the concurrent rollouts."""

    kind: Literal["local"] = "local"
    model: str = Field(
        "", description="A checkpoint's folder or a Hugging Face name; stages fill in the one they are given."
    )
    name: str = Field("", description="Name in trajectories, e.g. a checkpoint's digest; default: `model`.")
    max_batch: int = Field(96, ge=1, description="Rows of one batch.")
    dtype: Literal["bfloat16", "float32"] = Field("bfloat16", description="Of weights and activations.")
    device: str = Field("cpu", description="A torch device.")
    threads: int = Field(
        0, ge=0, description="CPU threads; 0: torch's choice.", json_schema_extra={"affects_output": False}
    )


class OpenAIConfig(_Config):
    """Any server that speaks the OpenAI chat API."""

    kind: Literal["openai"] = "openai"
    base_url: str = Field("http://127.0.0.1:8000/v1", description="Of the server.")
    model: str = Field(description="Name the server knows the model by.")
    api_key_env: str = Field("OPENAI_API_KEY", description="Environment variable that holds the key.")
    native_tools: bool = Field(False, description="Use the server's tool calls instead of our text format.")
    parallel: int = Field(
        16, ge=1, description="Requests in flight.", json_schema_extra={"affects_output": False}
    )
    timeout_seconds: float = Field(120, gt=0, description="One request.")
    attempts: int = Field(6, ge=1, description="Tries of one request before the rollout is given up.")
    max_backoff_seconds: float = Field(30, gt=0, description="Longest pause between tries.")
    dollars_per_million_prompt: float = Field(0, ge=0, description="For the cost column.")
    dollars_per_million_completion: float = Field(0, ge=0, description="For the cost column.")


ModelConfig = Annotated[
    OracleConfig | ScriptedConfig | LocalConfig | OpenAIConfig, Field(discriminator="kind")
]
