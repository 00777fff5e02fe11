"""The sandboxes to test, and whether this machine has what docker needs."""

from functools import cache

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from components.sandbox import make_sandbox
from components.sandbox.base import Limits, Sandbox
from components.sandbox.bubblewrap import BubblewrapSandbox
from components.sandbox.config import SandboxConfig

BACKENDS = ["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)]
"""Those that isolate, for `parametrize`."""

SMALL = Limits(wall_seconds=60, cpu_seconds=20, memory_mb=256, pids=32, disk_mb=32, output_bytes=4096)
"""Limits that are reached soon."""


@cache
def why_no_docker() -> str:
    """What docker lacks here; empty when nothing."""
    try:
        client = docker.from_env(timeout=10)
        client.images.get(SandboxConfig().docker_image)
    except ImageNotFound:
        return "no base image; make it with infra/docker-base.sh"
    except DockerException as error:
        return f"no docker daemon ({error}); start one with infra/start-dockerd.sh"
    return ""


def sandbox_of(kind: str) -> Sandbox:
    """A sandbox by name, or skip the test if this machine cannot have it."""
    if kind == "docker" and why_no_docker():
        pytest.skip(why_no_docker())
    if kind == "bubblewrap-copy":
        return BubblewrapSandbox(SandboxConfig(), overlay=False)
    return make_sandbox(SandboxConfig.model_validate({"kind": kind}))
