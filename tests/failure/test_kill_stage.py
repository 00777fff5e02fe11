"""SIGKILL inside a stage and at its publication: the rerun ends with the same digest, nothing lost or twice."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from components.store import Dataset, Store, Workspace
from components.store.manifest import Manifest
from tests.store.stages import SquareConfig, items_done, run_square

COUNT = 20


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return run_square(Workspace(tmp_path_factory.mktemp("reference")), SquareConfig(count=COUNT))


def start(workspace: Workspace, config: SquareConfig) -> "subprocess.Popen[bytes]":
    """Run the stage in a process group of its own."""
    workspace.root.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "tests.store.stages", str(workspace.root), config.model_dump_json()]
    return subprocess.Popen(command, start_new_session=True)


def check(made: Dataset, reference: Dataset) -> None:
    assert made.digest == reference.digest
    assert made.manifest.rows == reference.manifest.rows
    assert made.manifest.rejected == reference.manifest.rejected == {"fifth": COUNT // 5}
    assert made.manifest.cost["tokens"] == COUNT


@pytest.mark.parametrize("item", [0, 7, 19])
def test_killed_inside_a_shard(workspace: Workspace, reference: Dataset, item: int) -> None:
    config = SquareConfig(count=COUNT, kill_at=item)
    assert start(workspace, config).wait() == -signal.SIGKILL
    finished = [n for n in range(COUNT) if n < item // config.shard_size * config.shard_size]
    made = run_square(workspace, SquareConfig(count=COUNT))
    check(made, reference)
    times = Counter(items_done(workspace))
    assert [times[n] for n in finished] == [1] * len(finished), "finished shards are not done again"
    assert set(times) == set(range(COUNT))
    assert not list(workspace.work.iterdir())


def test_killed_pool_leaves_no_worker(workspace: Workspace, reference: Dataset) -> None:
    process = start(workspace, SquareConfig(count=COUNT, workers=2, seconds=0.1, shard_size=2))
    while len(items_done(workspace)) < 5:
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGKILL)  # the parent alone: its workers must notice
    process.wait()
    assert len(children) >= 3
    assert psutil.wait_procs(children, timeout=10)[1] == []
    check(run_square(workspace, SquareConfig(count=COUNT, workers=2, shard_size=2)), reference)


class Killed(Store):
    """A store whose process dies at one instant of a publication."""

    def __init__(self, workspace: Workspace, instant: str) -> None:
        super().__init__(workspace)
        self._instant = instant
        objects = self.objects
        publish, write = objects.publish, objects.write

        def dying_publish(name: str, folder: Path, files: Mapping[str, str]) -> None:
            self._die("before the dataset")
            publish(name, folder, files)
            self._die("before the commit")

        def dying_write(name: str, data: bytes, *, only_new: bool = False) -> bool:
            done = write(name, data, only_new=only_new)
            self._die("after the commit")
            return done

        objects.publish, objects.write = dying_publish, dying_write  # type: ignore[method-assign]

    def publish(self, manifest: Manifest, folder: Path) -> Dataset:
        self._die("before anything")
        return super().publish(manifest, folder)

    def _die(self, instant: str) -> None:
        if instant == self._instant:
            os.kill(os.getpid(), signal.SIGKILL)


def publish_and_die(workspace: Workspace, instant: str) -> None:
    from components.store import execute
    from tests.store.stages import Square

    execute(Square(), SquareConfig(count=COUNT), {}, Killed(workspace, instant))


@pytest.mark.parametrize(
    "instant", ["before anything", "before the dataset", "before the commit", "after the commit"]
)
def test_killed_while_publishing(workspace: Workspace, reference: Dataset, instant: str) -> None:
    workspace.root.mkdir()
    process = multiprocessing.get_context("forkserver").Process(
        target=publish_and_die, args=(workspace, instant)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    store = Store(workspace)
    assert [manifest.digest for manifest in store.all()] in ([], [reference.digest])
    check(run_square(workspace, SquareConfig(count=COUNT)), reference)
    assert items_done(workspace) == list(range(COUNT)), "all shards were finished, none is done again"
    assert len(store.all()) == 1
    assert [path.name for path in (workspace.store / "datasets").iterdir()] == [reference.digest]


def test_two_processes_share_the_work_of_one(workspace: Workspace, reference: Dataset) -> None:
    config = SquareConfig(count=COUNT, seconds=0.05)
    processes = [start(workspace, config) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert items_done(workspace) == list(range(COUNT))
    made = run_square(workspace, config)
    assert made.cached
    check(made, reference)


def test_waiter_takes_over_from_a_killed_process(workspace: Workspace, reference: Dataset) -> None:
    first = start(workspace, SquareConfig(count=COUNT, seconds=0.1))
    while len(items_done(workspace)) < 4:
        time.sleep(0.02)
    second = start(workspace, SquareConfig(count=COUNT))
    time.sleep(0.5)
    os.killpg(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert second.wait() == 0
    assert Counter(items_done(workspace))[0] == 1
    check(run_square(workspace, SquareConfig(count=COUNT)), reference)
