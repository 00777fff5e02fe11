"""Prefect flows: decorators and wiring, no logic. Nothing imports this package.

Prefect reads its settings when it is imported, so the ones that make it work without a server or a network are
set here, before any flow imports it. A variable that is already set wins.
"""

import os
from pathlib import Path

for _name, _value in {
    "PREFECT_HOME": str(Path(".flywheel/prefect").absolute()),
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
}.items():
    os.environ.setdefault(_name, _value)

Path(os.environ["PREFECT_HOME"]).mkdir(parents=True, exist_ok=True)
