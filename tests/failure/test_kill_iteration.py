"""SIGKILL at every stage boundary and inside synthesis, distillation and training: nothing lost, nothing doubled."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.loop import ROOT, command, datasets, run_loop, write_params

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1500)]

BOUNDARIES = (
    *("repositories", "synthesis", "validation", "distill", "gates", "curate"),
    *("base_model", "train", "analyse"),
)
INSIDE = {
    "synthesis": "work/*/steps/001/*",
    "distill": "work/*/steps/001/*",
    "train": "work/*/scratch/sft/checkpoint-*/trainer_state.json",
}


def finished(state: Path) -> set[str]:
    """Stages with a published dataset."""
    return {json.loads(path.read_text())["stage"] for path in state.glob("store/manifests/*.json")}


def kill_when(params: Path, condition: Callable[[], bool]) -> bool:
    """Start the loop, kill it and all its children as soon as the condition holds; False if it ended before."""
    process = subprocess.Popen(
        command(params),
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        if condition():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.005)
    return False


def test_a_loop_that_is_killed_again_and_again_ends_with_the_same_datasets(tmp_path: Path) -> None:
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    for folder in (calm, rough):
        folder.mkdir()
    library = tmp_path / "otherlib"
    expected = datasets(run_loop(write_params(calm, library=library)))
    params, state = write_params(rough, library=library), rough / "state"
    kills = 0
    for stage in BOUNDARIES:
        if pattern := INSIDE.get(stage):
            kills += kill_when(params, lambda p=pattern: any(state.glob(p)))  # type: ignore[misc]
        kills += kill_when(params, lambda s=stage: s in finished(state))  # type: ignore[misc]
    assert kills >= len(BOUNDARIES)
    assert datasets(run_loop(params)) == expected
