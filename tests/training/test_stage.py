"""A tiny model is really trained: loss falls, the template travels along, a killed run resumes to the bit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel

from components.records.errors import ConfigError, InfrastructureError, InputError
from components.records.training import Checkpoint, Example, Message, TrainPoint
from components.store.dataset import Dataset
from components.store.output import Output
from components.store.stage import execute
from components.store.store import Store
from components.store.workspace import Workspace
from components.training.base_model import BaseModelStage
from components.training.config import BaseModelConfig, TrainConfig
from components.training.stage import TrainStage

pytest.importorskip("trl")
CONFIG = TrainConfig(epochs=3, batch_rows=2, save_every=4, threads=1, learning_rate=5e-3, bf16=False)


class ExamplesConfig(BaseModel):
    rows: int = 16
    train: bool = True


class ExamplesStage:
    name, version = "examples", 1

    def run(self, config: ExamplesConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        out.write("examples", [example(index, config.train) for index in range(config.rows)], Example)


def example(index: int, train: bool) -> Example:
    turns = (
        Message(role="user", content=f"fix line {index}"),
        Message(role="assistant", content="<function=submit>\n</function>", train=train),
    )
    return Example(
        id=str(index), task_id=f"t{index}", trajectory_id=f"j{index}", repository_id="r", messages=turns
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(Workspace(tmp_path_factory.mktemp("train")))


@pytest.fixture(scope="module")
def base(store: Store) -> Dataset:
    return execute(BaseModelStage(), BaseModelConfig(source="random:tiny"), {}, store)


@pytest.fixture(scope="module")
def trained(store: Store, base: Dataset) -> Dataset:
    examples = execute(ExamplesStage(), ExamplesConfig(), {}, store)
    return execute(TrainStage(), CONFIG, {"base": base, "examples": examples}, store)


def test_it_learns(trained: Dataset) -> None:
    curve = trained.rows("curve", TrainPoint)
    assert curve[-1].loss < 0.8 * curve[0].loss
    row = trained.rows("checkpoint", Checkpoint)[0]
    assert (row.examples, row.steps) == (16, 24)


def test_the_checkpoint_names_what_it_came_from(trained: Dataset, base: Dataset) -> None:
    row = trained.rows("checkpoint", Checkpoint)[0]
    before = base.rows("checkpoint", Checkpoint)[0]
    assert row.base_model == before.digest != row.digest
    assert row.datasets == (trained.manifest.inputs["examples"],)
    assert row.chat_template_sha256 == before.chat_template_sha256 != ""
    assert {file.path for file in row.files} >= {"model.safetensors", "chat_template.jinja", "tokenizer.json"}


def test_nothing_to_train_on_stops_with_the_reason(store: Store, base: Dataset) -> None:
    examples = execute(ExamplesStage(), ExamplesConfig(train=False), {}, store)
    with pytest.raises(InputError, match="none of 16 examples"):
        execute(TrainStage(), CONFIG, {"base": base, "examples": examples}, store)


def test_a_stalled_job_is_stopped(store: Store, base: Dataset) -> None:
    examples = execute(ExamplesStage(), ExamplesConfig(rows=3), {}, store)
    config = CONFIG.model_copy(update={"stall_seconds": 0.01})
    with pytest.raises(InfrastructureError, match="no progress"):
        execute(TrainStage(), config, {"base": base, "examples": examples}, store)


def test_unknown_models_are_named() -> None:
    with pytest.raises(ValueError, match="source"):
        BaseModelConfig(source="smollm")
    with pytest.raises(ConfigError, match="path:/nowhere"):
        from components.training.base_model import _load

        _load(BaseModelConfig(source="path:/nowhere"))


KILLED = """
import sys
from pathlib import Path
from tests.training.test_stage import CONFIG, ExamplesConfig, ExamplesStage
from components.store.stage import execute
from components.store.store import Store
from components.store.workspace import Workspace
from components.training.base_model import BaseModelStage
from components.training.config import BaseModelConfig
from components.training.stage import TrainStage
store = Store(Workspace(Path(sys.argv[1])))
base = execute(BaseModelStage(), BaseModelConfig(source="random:tiny"), {}, store)
examples = execute(ExamplesStage(), ExamplesConfig(), {}, store)
print(execute(TrainStage(), CONFIG, {"base": base, "examples": examples}, store).digest)
"""


@pytest.mark.slow
def test_sigkill_in_training_resumes_to_the_same_digest(trained: Dataset, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 200
    while not list(tmp_path.glob("work/*/scratch/sft/checkpoint-*/trainer_state.json")):
        assert process.poll() is None, "it ended before its first checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.split()[-1] == trained.digest
