"""A bar on a terminal, lines elsewhere."""

import os
import pty
import sys
import threading

import pytest

from components.store import progress
from components.store.progress import Progress


def run() -> None:
    with Progress("squares", total=4, done=1) as bar:
        bar.advance()
        bar.advance(2)


def test_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        try:
            while data := os.read(ours, 4096):
                shown.extend(data)
        except OSError:  # the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    monkeypatch.setenv("TERM", "xterm")
    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        run()
    reader.join()
    os.close(ours)
    assert "squares" in shown.decode() and "4/4" in shown.decode() and "eta" in shown.decode()


def test_lines_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    run()
    said, lines = capsys.readouterr()
    first, *_, last = lines.splitlines()
    assert first.startswith("squares: 2/4, eta 0:00:0") and last.startswith("squares: 4/4, in 0:00:0")
    assert not said  # stdout belongs to the command


def test_few_lines_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    run()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_was_reached_is_not_counted_again() -> None:
    with Progress("squares", total=9, done=1) as bar:
        reached = []
        for done in (3, 2, 3, 7):
            bar.reach(done)
            reached.append(bar.done)
    assert reached == [3, 3, 3, 7]
