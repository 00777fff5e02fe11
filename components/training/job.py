"""Training as a job: a request file in; a checkpoint folder, a result file and an exit code out.

The job is a process of its own, so that a worker of any kind (a subprocess here, a container or a Kubernetes job
elsewhere) can run it, and so that the memory it keeps ends with it.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from components.records.errors import InfrastructureError, InputError
from components.records.training import TrainPoint
from components.training.config import TrainConfig

INPUT_ERROR_CODE = 3


class TrainRequest(BaseModel):
    """What a training job is told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    config: TrainConfig
    model: str
    """Folder of the model to start from."""
    examples: str
    """Parquet file of `Example` rows."""
    scratch: str
    """Folder for resume points; kept between attempts."""
    output: str
    """Folder for the finished model."""


class TrainResult(BaseModel):
    """What a training job answers, in `result.json` of its scratch folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int
    tokens: int
    trained_tokens: int
    dropped: int
    """Rows without a whole trained turn within the maximum length."""
    examples: int
    final_loss: float
    seconds: float
    curve: tuple[TrainPoint, ...]


def run_job(request: TrainRequest) -> TrainResult:
    """Run one training job in a process of its own and wait for it.

    A job that writes nothing for `stall_seconds` is stopped by this watchdog.

    Raises:
        InputError: nothing to train on.
        InfrastructureError: the process died or stalled; run again to resume from its last checkpoint.
    """
    scratch = Path(request.scratch)
    path = scratch / "request.json"
    path.write_text(request.model_dump_json(indent=1))
    (scratch / "result.json").unlink(missing_ok=True)
    beat = scratch / "heartbeat"
    beat.touch()
    errors = scratch / "stderr.log"
    quiet = not sys.stderr.isatty()
    with errors.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "components.training.job", str(path)],
            stderr=log if quiet else None,
            env={
                **os.environ,
                "TOKENIZERS_PARALLELISM": "false",
                "HF_HUB_DISABLE_TELEMETRY": "1",
            },
        )
        try:
            _wait(process, beat, request.config.stall_seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode == INPUT_ERROR_CODE:
        raise InputError((scratch / "error.txt").read_text())
    if process.returncode != 0:
        last = (errors.read_text().strip().splitlines() or [""])[-1]
        raise InfrastructureError(
            f"training stopped with exit code {process.returncode}: {last}; rerun to resume"
        )
    return TrainResult.model_validate_json((scratch / "result.json").read_text())


def _wait(process: "subprocess.Popen[bytes]", beat: Path, stall_seconds: float) -> None:
    while process.poll() is None:
        try:
            process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            if time.time() - beat.stat().st_mtime > stall_seconds:
                process.kill()
                process.wait()
                raise InfrastructureError(
                    f"training made no progress for {stall_seconds:.0f} s and was stopped; rerun to resume"
                ) from None


def main(argv: list[str]) -> int:
    """Entry point of the process."""
    request = TrainRequest.model_validate_json(Path(argv[0]).read_text())
    from components.training.sft import train

    try:
        result = train(request)
    except InputError as error:
        (Path(request.scratch) / "error.txt").write_text(str(error))
        return INPUT_ERROR_CODE
    (Path(request.scratch) / "result.json").write_text(result.model_dump_json())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
