"""A `moto_server` process: S3 over HTTP, as a client sees it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.error import URLError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@dataclass(frozen=True)
class S3Server:
    """Where it listens."""

    endpoint_url: str

    def client(self) -> "S3Client":
        import boto3

        return boto3.client("s3", endpoint_url=self.endpoint_url)

    def bucket(self) -> str:
        """A new empty bucket."""
        name = f"bucket-{uuid.uuid4().hex[:12]}"
        self.client().create_bucket(Bucket=name)
        return name


@contextmanager
def serve_s3() -> Iterator[S3Server]:
    """A server on a free port, with credentials for it in the environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    before = {name: os.environ.get(name) for name in CREDENTIALS}
    os.environ.update(CREDENTIALS)
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process)
        yield S3Server(url)
    finally:
        process.kill()
        process.wait()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/moto-api/", timeout=5).close()
            return
        except (URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"moto_server did not start, exit code {process.poll()}")
