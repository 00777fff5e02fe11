"""The Prefect and MLflow servers over the workspace of a loop, for people to look at."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from components.records.errors import ConfigError
from components.store.workspace import Workspace

HOST = "127.0.0.1"


def serve(workspace: Workspace, *, port: int, mlflow_port: int, mlflow_uri: str) -> None:
    """Run both servers until one of them ends or Ctrl-C.

    Raises:
        ConfigError: a port is taken.
    """
    for key, wanted in (("--port", port), ("--mlflow-port", mlflow_port)):
        if not is_free(wanted):
            raise ConfigError(
                key, wanted, "a free port", f"Something listens on {HOST}:{wanted}; choose another."
            )
    home = {"PREFECT_HOME": os.environ.get("PREFECT_HOME", str(workspace.root / "prefect"))}
    Path(home["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
    commands = (
        ["-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)],
        [
            "-m",
            "mlflow",
            "server",
            "--host",
            HOST,
            "--port",
            str(mlflow_port),
            "--backend-store-uri",
            mlflow_uri,
        ],
    )
    servers = [subprocess.Popen([sys.executable, *line], env={**os.environ, **home}) for line in commands]
    try:
        while all(server.poll() is None for server in servers):
            for server in servers:
                try:
                    server.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    continue
    except KeyboardInterrupt:
        pass
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.wait()


def is_free(port: int) -> bool:
    """Whether nothing listens on a port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
