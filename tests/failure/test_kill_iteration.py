"""SIGKILL at every stage boundary, inside stages, while data is pushed: nothing lost, nothing doubled."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.loop import ROOT, command, datasets, run_loop, write_params

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(1500)]

BOUNDARIES = (
    *("repositories", "synthesis", "validation", "distill", "gates", "curate"),
    *("base_model", "train", "evaluate", "evaluate", "analyse"),
)
"""Stages in their order. One kind of stage comes twice: the base model's evaluation, the trained one's."""
INSIDE = {
    "synthesis": "work/*/steps/001/*",
    "distill": "work/*/steps/001/*",
    "train": "work/*/scratch/sft/checkpoint-*/trainer_state.json",
}
PUSHED = "remote/files/md5/*/*"


def finished(state: Path) -> Counter[str]:
    """How many datasets each stage has published."""
    return Counter(json.loads(path.read_text())["stage"] for path in state.glob("store/manifests/*.json"))


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
    seen: Counter[str] = Counter()
    for stage in BOUNDARIES:
        seen[stage] += 1
        if pattern := INSIDE.get(stage):
            assert kill_when(params, partial(_any, state, pattern)), f"ended before {pattern}"
            assert finished(state)[stage] < seen[stage], f"{stage} was over before it was killed"
        assert kill_when(params, partial(_published, state, stage, seen[stage])), f"ended before {stage}"
    assert kill_when(params, partial(_any, state, PUSHED)), "ended before anything was pushed"
    assert datasets(run_loop(params)) == expected
    assert finished(state) == Counter([*BOUNDARIES, "iteration"])


def _published(state: Path, stage: str, count: int) -> bool:
    return finished(state)[stage] >= count


def _any(state: Path, pattern: str) -> bool:
    return any(state.glob(pattern))
