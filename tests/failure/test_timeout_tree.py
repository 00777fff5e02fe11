"""A command that runs out of time takes all it started with it, however well that hides."""

import os
import time

import psutil
import pytest

from components.sandbox.base import Session, Tree
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

HIDING = """
import os, signal, sys, time
seconds = sys.argv[1]
for number in range(1, 32):
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
for kind in ("child", "session", "double", "orphan"):
    if os.fork() == 0:
        if kind != "child":
            os.setsid()
        if kind in ("double", "orphan") and os.fork():
            os._exit(0)
        if kind == "orphan":
            os.chdir("/")
            null = os.open("/dev/null", os.O_RDWR)
            for fd in range(3):
                os.dup2(null, fd)
        os.execvp("sleep", ["sleep", seconds])
print("started", flush=True)
while True:
    try:
        time.sleep(60)
    except BaseException:
        pass
"""


def sleepers(seconds: str) -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[-1:] == [seconds]]


@pytest.mark.parametrize("kind", [*BACKENDS, "process"])
def test_nothing_survives(tiny_tree: Tree, kind: str) -> None:
    seconds = f"8642.{os.getpid()}"
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        result = session.exec(["python", "-c", HIDING, seconds], timeout=5)
        assert (result.exit_code, result.timed_out, result.killed) == (124, True, "wall")
        assert "started" in result.stdout
        assert result.seconds < 60
        assert sleepers(seconds) == []
        assert session.exec(["echo", "fine"]).stdout == "fine\n"


@pytest.mark.parametrize("kind", [*BACKENDS, "process"])
def test_a_command_that_ends_in_time_leaves_nothing_either(tiny_tree: Tree, kind: str) -> None:
    seconds = f"8643.{os.getpid()}"
    ending = HIDING.split("while True")[0]
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        assert session.exec(["python", "-c", ending, seconds]).exit_code == 0
        assert sleepers(seconds) == []


@pytest.mark.parametrize("kind", BACKENDS)
def test_a_command_that_stops_itself_runs_out_of_time(tiny_tree: Tree, kind: str) -> None:
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        result = session.exec(["sh", "-c", "kill -STOP $$"], timeout=1)
        assert result.timed_out
        _writes_nothing_after(session)


def _writes_nothing_after(session: Session) -> None:
    before = session.files()
    time.sleep(0.3)
    assert session.files() == before
