"""SIGTERM while the flow runs: it ends soon, and nothing that it started outlives it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.loop import ROOT, write_params

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(300)]


def alive(session: int) -> list[str]:
    """Command lines of the processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # ended meanwhile
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(line)
    return found


def test_a_terminated_flow_leaves_no_server_behind(tmp_path: Path) -> None:
    params, state = write_params(tmp_path), tmp_path / "state"
    line = [sys.executable, "-m", "flows.iteration", "--params", str(params)]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(line, cwd=ROOT, start_new_session=True, stdout=log, stderr=log)
    try:
        while not any(state.glob("store/manifests/*.json")):
            assert process.poll() is None, (tmp_path / "log").read_text()[-3000:]
            time.sleep(0.05)
        assert any("uvicorn" in line for line in alive(process.pid)), "no server to be left behind"
        process.send_signal(signal.SIGTERM)
        code = process.wait(timeout=60)
        deadline = time.monotonic() + 10
        while alive(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert alive(process.pid) == []
        assert code == 128 + signal.SIGTERM
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
