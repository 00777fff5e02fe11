"""A port that is taken: one line that says which, and what to do."""

import socket
import subprocess
import sys
from pathlib import Path

from components.ui import HOST
from tests.loop import ROOT, write_params


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        line = ["ui", "--params", str(write_params(tmp_path)), "--port", str(port)]
        done = subprocess.run(
            [sys.executable, "-m", "components.cli", *line],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(
        f"error: --port: {port} is not allowed; allowed: a free port"
    )
    assert "Traceback" not in done.stderr
