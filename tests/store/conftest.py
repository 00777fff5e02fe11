"""A store in a temporary workspace; a real S3 server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from components.store import Store, Workspace
from tests.store.s3_server import S3Server, serve_s3


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture
def store(workspace: Workspace) -> Store:
    return Store(workspace)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with serve_s3() as server:
        yield server
