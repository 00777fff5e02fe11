"""Export to ATIF, Harbor's agent trajectory interchange format (v1.8), checked against its rules.

The models mirror the fields of the specification that we fill; unknown fields are refused, as Harbor does.
What ATIF has no field for (taken back, errors of calls) goes where it wants such things: in `extra`.
"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from components.records.trajectory import Step, Trajectory

VERSION: Literal["ATIF-v1.8"] = "ATIF-v1.8"


class _Atif(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AtifToolCall(_Atif):
    """One call."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]


class AtifResult(_Atif):
    """One result, of a call of the same step or of none."""

    source_call_id: str | None = None
    content: str | None = None


class AtifObservation(_Atif):
    """All results of a step."""

    results: tuple[AtifResult, ...]


class AtifMetrics(_Atif):
    """What one model call took, and its tokens as sampled."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        if (
            self.logprobs
            and self.completion_token_ids
            and len(self.logprobs) != len(self.completion_token_ids)
        ):
            raise ValueError("logprobs and completion_token_ids differ in length")
        return self


class AtifStep(_Atif):
    """One turn; ids count from 1."""

    step_id: int = Field(ge=1)
    source: Literal["system", "user", "agent"]
    message: str
    reasoning_content: str | None = None
    tool_calls: tuple[AtifToolCall, ...] | None = None
    observation: AtifObservation | None = None
    metrics: AtifMetrics | None = None
    extra: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.source != "agent" and (self.tool_calls or self.metrics or self.reasoning_content):
            raise ValueError(f"step {self.step_id}: only an agent's step has calls, metrics and reasoning")
        known = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results if self.observation else ():
            if result.source_call_id is not None and result.source_call_id not in known:
                raise ValueError(f"step {self.step_id}: a result of unknown call {result.source_call_id}")
        return self


class AtifAgent(_Atif):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: tuple[JsonValue, ...] | None = None


class AtifFinalMetrics(_Atif):
    """Sums over the trajectory."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None


class AtifTrajectory(_Atif):
    """A whole document."""

    schema_version: Literal["ATIF-v1.8"] = VERSION
    session_id: str
    trajectory_id: str
    agent: AtifAgent
    steps: tuple[AtifStep, ...] = Field(min_length=1)
    final_metrics: AtifFinalMetrics | None = None
    extra: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if [step.step_id for step in self.steps] != list(range(1, len(self.steps) + 1)):
            raise ValueError("step ids do not count from 1")
        return self

    def to_json(self) -> str:
        """The document, without fields that have no value; parses back to an equal one."""
        return self.model_dump_json(exclude_none=True, indent=1)


def to_atif(trajectory: Trajectory) -> AtifTrajectory:
    """A trajectory as ATIF. Raises ValueError when it breaks a rule of the format."""
    tools = trajectory.tools if isinstance(trajectory.tools, list) else []
    extra: dict[str, JsonValue] = {
        "task_id": trajectory.task_id,
        "demonstrator": trajectory.demonstrator,
        "tests_visible": trajectory.tests_visible,
        "exit_status": trajectory.exit_status.value,
        "sampling": trajectory.sampling,
        "patch": trajectory.patch,
    }
    if trajectory.grade is not None:
        extra["resolved"] = trajectory.grade.resolved
        extra["reward"] = trajectory.grade.reward
    return AtifTrajectory(
        session_id=trajectory.id,
        trajectory_id=trajectory.id,
        agent=AtifAgent(
            name=trajectory.scaffold,
            version=trajectory.scaffold_sha256[:12],
            model_name=trajectory.model,
            tool_definitions=tuple(tools),
        ),
        steps=tuple(_step(number, step) for number, step in enumerate(trajectory.steps, start=1)),
        final_metrics=AtifFinalMetrics(
            total_prompt_tokens=trajectory.usage.prompt_tokens,
            total_completion_tokens=trajectory.usage.completion_tokens,
            total_cost_usd=trajectory.usage.dollars,
            total_steps=len(trajectory.steps),
        ),
        extra=extra,
    )


def _step(number: int, step: Step) -> AtifStep:
    if step.source != "agent":
        return AtifStep(step_id=number, source=step.source, message=step.message)
    extra: dict[str, JsonValue] = {"rewound": True} if step.rewound else {}
    errors: dict[str, JsonValue] = {call.id: call.error for call in step.tool_calls if call.error}
    if errors:
        extra["errors"] = errors
    return AtifStep(
        step_id=number,
        source="agent",
        message=step.message,
        reasoning_content=step.reasoning or None,
        # A turn that could not be parsed made no call; its answer then belongs to none.
        tool_calls=tuple(
            AtifToolCall(
                tool_call_id=call.id,
                function_name=call.name,
                arguments=call.arguments if isinstance(call.arguments, dict) else {},
            )
            for call in step.tool_calls
            if call.name
        )
        or None,
        observation=AtifObservation(
            results=tuple(
                AtifResult(
                    source_call_id=item.call_id if _made(step, item.call_id) else None, content=item.content
                )
                for item in step.observations
            )
        )
        if step.observations
        else None,
        metrics=AtifMetrics(
            prompt_tokens=step.prompt_tokens,
            completion_tokens=step.completion_tokens,
            completion_token_ids=step.completion_token_ids or None,
            logprobs=step.logprobs or None,
        ),
        extra=extra or None,
    )


def _made(step: Step, call_id: str) -> bool:
    return any(call.id == call_id and call.name for call in step.tool_calls)
