"""What a model learns from, and what comes of it."""

from components.records.base import Json, Record


class Message(Record):
    """One chat message; `train` says whether its tokens carry loss."""

    role: str
    content: str
    train: bool = False


class Example(Record):
    """One row of supervised training."""

    id: str
    task_id: str
    trajectory_id: str
    repository_id: str
    messages: tuple[Message, ...]


class FileDigest(Record):
    """One file of a checkpoint."""

    path: str
    sha256: str
    bytes: int


class Checkpoint(Record):
    """A trained model and where it came from."""

    digest: str
    """sha256 over the sorted (path, sha256) of its files."""
    base_model: str
    recipe: str
    files: tuple[FileDigest, ...]
    datasets: tuple[str, ...]
    """Digests of the datasets it learnt from."""
    chat_template_sha256: str
    examples: int
    steps: int
    tokens: int
    final_loss: float
    config: Json


class TrainPoint(Record):
    """One logged point of a training run."""

    step: int
    epoch: float
    loss: float
    learning_rate: float
    grad_norm: float
    tokens: int
    """Tokens seen so far, padding left out."""
