"""How well a model did, and why it failed where it failed."""

from enum import StrEnum

from components.records.base import Record


class Score(Record):
    """Aggregate of one model on one set of tasks in one setting."""

    model: str
    suite: str
    """`heldout` or `heldout_repo`."""
    setting: str
    """`visible` or `hidden`."""
    tasks: int
    attempts: int
    resolved: int
    resolved_rate: float
    low: float
    """Wilson 95 % interval."""
    high: float
    pass_at: dict[str, float]
    """Unbiased pass@k (Chen et al. 2021, arXiv 2107.03374), k as text."""
    mean_steps: float
    mean_tokens: float
    infrastructure_errors: int
    """Counted apart, never in the denominator."""


class Speed(Record):
    """How long a suite took. Kept apart from its score, which is the same in every run."""

    is_evidence = True

    suite: str
    setting: str
    rollouts: int
    mean_seconds: float
    """Of one rollout: model, tools and grading."""


class Comparison(Record):
    """Trained minus base on the same tasks; 95 % bootstrap interval over tasks."""

    base: str
    trained: str
    suite: str
    setting: str
    tasks: int
    difference: float
    low: float
    high: float


class FailureClass(StrEnum):
    """Why a rollout did not resolve its task (SWE-Lego's classes and ours)."""

    NO_REPRODUCTION = "no_reproduction"
    WRONG_FILE = "wrong_file"
    WRONG_PLACE = "wrong_place"
    WRONG_FIX = "wrong_fix"
    TURNS_EXHAUSTED = "turns_exhausted"
    LOOPED = "looped"
    EMPTY_PATCH = "empty_patch"
    MALFORMED_CALL = "malformed_call"
    INFRASTRUCTURE = "infrastructure"


class Diagnosis(Record):
    """One failed rollout, classified."""

    trajectory_id: str
    task_id: str
    repository_id: str
    strategy: str
    function: str
    failure: FailureClass
    detail: str


class MixWeight(Record):
    """How much of the next iteration's tasks a stratum shall be; weights sum to 1."""

    strategy: str
    repository_id: str
    attempted: int
    resolved: int
    weight: float
