"""Configuration of scaffolds: data, whose digest every trajectory carries."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from components.sandbox.base import Limits

ToolName = Literal["search", "view", "edit", "bash", "test", "submit"]


class AgentLimits(BaseModel):
    """Where a rollout ends whether or not the model is ready. Each limit has its own exit status."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_turns: int = Field(12, ge=1, description="Model calls, including those that were taken back.")
    max_malformed: int = Field(3, ge=1, description="Calls in a row that could not be parsed.")
    max_repeats: int = Field(4, ge=2, description="The same call in a row, with the same answer.")
    max_turn_tokens: int = Field(160, ge=1, description="Tokens of one model turn.")
    max_thought_tokens: int = Field(
        48, ge=1, description="Tokens before a call; a local model's turn without one ends there."
    )
    max_tokens: int = Field(60_000, ge=1, description="Prompt and completion tokens over the whole rollout.")
    max_context_tokens: int = Field(2048, ge=1, description="Prompt and completion tokens of one turn.")
    wall_seconds: float = Field(1800, gt=0, description="Time in tools and in the model.")
    test_seconds: float = Field(180, gt=0, description="Wall time of one run of tests.")
    bash_seconds: float = Field(60, gt=0, description="Wall time of one command of the bash tool.")
    command: Limits = Field(
        Limits(cpu_seconds=20),
        description="What a command or run of tests may use. CPU time ends a loop that an edit has made "
        "endless; unlike wall time it does not depend on how busy the machine is.",
    )
    infrastructure_retries: int = Field(2, ge=0, description="Fresh starts after the machine failed.")


class ScaffoldConfig(BaseModel):
    """How an agent sees and changes a repository."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("flywheel", description="Part of each trajectory's id.")
    prompt: Literal["short", "full"] = Field(
        "short", description="`short`: tool signatures only (for small models); `full`: with descriptions."
    )
    tools: tuple[ToolName, ...] = Field(
        ("search", "view", "edit", "bash", "test", "submit"), description="Tools offered."
    )
    temperature: float = Field(0.0, ge=0, description="Of the first sample in a context; 0 is greedy.")
    retry_temperature: float = Field(
        0.2, ge=0, description="Of further samples in a context that the conversation was taken back to."
    )
    unique_retries: bool = Field(
        True, description="Ask the model not to repeat a turn that was taken back (`local` can)."
    )
    test_after_edit: bool = Field(
        True, description="An edit that applied runs the task's visible failing tests at once."
    )
    on_failed_edit: Literal["rewind", "keep"] = Field(
        "rewind",
        description="`rewind`: undo an edit that failed, and the turn with it; `keep`: let both stand.",
    )
    on_failed_call: Literal["rewind", "keep"] = Field(
        "rewind", description="The same for calls that could not be parsed or carried out."
    )
    guided: bool = Field(
        True,
        description="A local model samples only calls that can be carried out: known functions, lines on view.",
    )
    edits: Literal["ranked", "sampled"] = Field(
        "ranked",
        description="`ranked`: a guided model of temperature 0 makes its edits of a view in the order of their "
        "probability (with `unique_retries`); `sampled`: token by token, further ones at `retry_temperature`.",
    )
    edit_lines: int = Field(
        1,
        ge=1,
        description="Lines that an edit of a guided model may be about; more come along to be unique.",
    )
    edits_per_line: int = Field(
        2, ge=1, description="Failed edits of a line, after which a guided model must choose another line."
    )
    edits_per_view: tuple[PositiveInt, ...] = Field(
        (6, 2),
        min_length=1,
        description="Failed edits after which the function on view is given up, to look elsewhere: the first one, "
        "the second and so on; the last number counts for all further ones.",
    )
    search_hits: int = Field(4, ge=1, description="Definitions and lines that a search for a text lists.")
    suspects_listed: int = Field(
        4, ge=1, description="Functions that a fault localisation lists; the source of the first is shown."
    )
    formula: Literal["ochiai", "op2"] = Field("ochiai", description="Suspiciousness of a line.")
    localize_tests: int = Field(
        200,
        ge=2,
        description="Most tests of a file that are run to localise; of more: the failing ones, neighbours, a sample.",
    )
    view_lines: int = Field(36, ge=5, description="Lines of a view; longer functions are cut.")
    output_chars: int = Field(2000, ge=200, description="Of bash; head and tail are kept.")
