"""A mutant that never ends dies with everything it started, and is refused as a time-out."""

import os
import time
from pathlib import Path

import pytest

from components.records.task import Rejection, RejectReason, Task
from components.sandbox.base import Sandbox
from components.validation.config import TimeConfig, ValidationConfig
from components.validation.prove import Prover
from components.validation.subject import Subject
from tests.validation.conftest import *  # noqa: F403 -- its fixtures
from tests.validation.conftest import MakeCandidate

NUMBERS = "tinylib/numbers.py"


def processes_named(mark: str) -> list[str]:
    """Processes of this machine with a word in their name."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                text = (folder / "comm").read_text()
            except OSError:
                continue
            if mark in text:
                found.append(f"{folder.name} {text.strip()}")
    return found


@pytest.mark.parametrize(
    "loop",
    [
        "while True: pass",  # burns CPU
        'while True: __import__("time").sleep(60)',  # does not
        'while True: __import__("signal").pthread_sigmask(0, range(1, 32))',  # will not listen
    ],
)
@pytest.mark.parametrize("wall_seconds", [5, 12])  # which limit it meets first
def test_a_loop_is_a_time_out_and_leaves_no_process(
    loop: str, wall_seconds: float, subject: Subject, make: MakeCandidate, tiny_sandbox: Sandbox
) -> None:
    mark = f"mutant{os.getpid()}"
    # A child in a session of its own, named so that it can be told from all others.
    child = (
        f'open("/proc/self/comm", "w").write("{mark}"); __import__("os").fork() or __import__("os").setsid()'
    )
    looping = make(NUMBERS, "        return high", f"        {child}\n        {loop}")
    honest = make(NUMBERS, "best = max(best, current)", "best = min(best, current)")
    config = ValidationConfig(confirm="none", time=TimeConfig(cpu_seconds=1, wall_seconds=wall_seconds))
    started = time.monotonic()
    outcomes = Prover(subject, config, tiny_sandbox).prove([looping, honest])
    assert isinstance(outcomes[0], Rejection)
    assert outcomes[0].reason == RejectReason.TIMEOUT
    assert "test_clamp[11-10]" in outcomes[0].detail
    assert isinstance(outcomes[1], Task)  # its neighbour in the batch does not pay
    assert processes_named(mark) == []
    assert time.monotonic() - started < 60 + wall_seconds
