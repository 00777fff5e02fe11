"""A small tree, and a session of each kind of sandbox on it."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.sandbox.base import Sandbox, Session, Tree
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

FILES = {
    "README.md": b"A tree for tests.\n",
    "pkg/__init__.py": b"",
    "pkg/core.py": b"def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
    "pkg/crlf.py": b"x = 1\r\ny = 2\r\n",
    "pkg/no_newline.py": b"z = 3",
    "data/blob.bin": bytes(range(256)),
}


def fill(folder: Path) -> None:
    for name, data in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "bin").mkdir()
    (folder / "bin" / "run.sh").write_bytes(b"#!/bin/sh\necho ran\n")
    (folder / "bin" / "run.sh").chmod(0o755)
    (folder / "inside").symlink_to("pkg/core.py")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory, environment: Path) -> Tree:
    repo = tmp_path_factory.mktemp("tree") / "repo"
    repo.mkdir()
    fill(repo)
    return Tree(environment=environment, repo=repo, digest="tests")


@pytest.fixture(scope="session", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Those that isolate."""
    return sandbox_of(request.param)


@pytest.fixture(params=BACKENDS)
def session(request: pytest.FixtureRequest, tree: Tree) -> Iterator[Session]:
    """A fresh session of each kind that isolates."""
    with sandbox_of(request.param).open(tree, limits=SMALL) as opened:
        yield opened


@pytest.fixture(params=[*BACKENDS, "bubblewrap-copy", "process"])
def any_session(request: pytest.FixtureRequest, tree: Tree) -> Iterator[Session]:
    """A fresh session of every kind."""
    with sandbox_of(request.param).open(tree, limits=SMALL) as opened:
        yield opened
