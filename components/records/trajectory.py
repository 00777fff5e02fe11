"""What an agent did: ATIF-shaped steps (Harbor's agent trajectory interchange format, v1.8).

A step of source `agent` holds the model's turn and the observations it got. Text is kept as emitted:
`raw` is never rewritten, and no turn is ever invented.
"""

from enum import StrEnum
from typing import Literal

from components.records.base import Json, Record
from components.records.repository import TestStatus


class ExitStatus(StrEnum):
    """How a rollout ended. Each limit has its own."""

    SUBMITTED = "submitted"
    TURN_LIMIT = "turn_limit"
    TOKEN_LIMIT = "token_limit"
    TIME_LIMIT = "time_limit"
    MALFORMED = "malformed"
    """Too many calls in a row that could not be parsed."""
    LOOPED = "looped"
    """The same call again and again."""
    INFRASTRUCTURE = "infrastructure"


class ToolCall(Record):
    """One call as parsed from a turn."""

    id: str
    name: str
    arguments: Json
    """JSON object, argument name to value."""
    error: str = ""
    """Why the call failed; empty when it worked."""


class Observation(Record):
    """What a tool answered."""

    call_id: str
    content: str
    cached: bool = False
    """True: the tool reused the result of an identical earlier run of this rollout."""


class Step(Record):
    """One turn."""

    index: int
    source: Literal["system", "user", "agent"]
    message: str
    """Text shown to, or made by, the model; for `agent` exactly what it emitted, without its stop token."""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    rewound: bool = False
    """True: the scaffold took this turn back, and no later turn saw it (backtracking)."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    completion_token_ids: tuple[int, ...] = ()
    """As sampled, when the model gives them."""
    logprobs: tuple[float, ...] = ()
    seconds: float = 0.0


class Usage(Record):
    """What a rollout cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float = 0.0


class HackFinding(Record):
    """A trace of cheating in a submission."""

    kind: str
    """E.g. `protected_path`, `forged_output`, `early_exit`."""
    detail: str


class TestResult(Record):
    """Status of one test that counts."""

    test: str
    kind: Literal["fail_to_pass", "pass_to_pass"]
    status: TestStatus


class Grade(Record):
    """The verdict on one submitted patch."""

    task_id: str
    resolved: bool
    patch_applied: bool
    empty_patch: bool
    tests: tuple[TestResult, ...]
    fail_to_pass_rate: float
    pass_to_pass_rate: float
    reward: float
    """Dense: fail-to-pass rate x pass-to-pass rate; 0 with any hack finding."""
    hacks: tuple[HackFinding, ...] = ()
    infrastructure: str = ""
    """Non-empty: the machine failed, the grade says nothing about the model."""
    timed_out: bool = False
    seconds: float = 0.0

    @property
    def mask(self) -> bool:
        """True: RL must not learn from it."""
        return bool(self.infrastructure)


class Trajectory(Record):
    """One rollout: `<task>#<teacher>.<scaffold>.<attempt>`."""

    schema_version: int = 1
    id: str
    task_id: str
    repository_id: str
    model: str
    """Checkpoint digest, model name, or `oracle`."""
    demonstrator: bool = False
    """True: the gold patch was known to whoever acted."""
    scaffold: str
    scaffold_sha256: str
    attempt: int
    tests_visible: bool
    tools: Json
    """JSON schemas of the tools offered."""
    sampling: Json
    steps: tuple[Step, ...]
    exit_status: ExitStatus
    patch: str
    """Diff of the sandbox, never of the text."""
    usage: Usage
    grade: Grade | None = None


class Timing(Record):
    """How long a rollout took. Kept apart from the trajectory, which is the same in every run."""

    is_evidence = True

    trajectory_id: str
    seconds: float
    """Model, tools and grading."""
    model_seconds: float
    grade_seconds: float


def split_timing(trajectory: Trajectory) -> tuple[Trajectory, Timing]:
    """The trajectory without its seconds, and its seconds."""
    graded = trajectory.grade
    timing = Timing(
        trajectory_id=trajectory.id,
        seconds=trajectory.usage.seconds,
        model_seconds=sum(step.seconds for step in trajectory.steps),
        grade_seconds=graded.seconds if graded else 0.0,
    )
    timeless = trajectory.model_copy(
        update={
            "steps": tuple(step.model_copy(update={"seconds": 0.0}) for step in trajectory.steps),
            "usage": trajectory.usage.model_copy(update={"seconds": 0.0}),
            "grade": graded and graded.model_copy(update={"seconds": 0.0}),
        }
    )
    return timeless, timing
