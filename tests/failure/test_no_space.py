"""A full disk: one line that says so, nothing half-written, and the same command works once there is room."""

import functools
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from components.records.base import Record
from components.records.errors import OutOfSpaceError
from components.store import Output, Store, Workspace, execute
from tests.store.stages import AdHoc, Empty, Number, SquareConfig, run_square

MEGABYTE = 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"mounting a small file system is not possible here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, leave: int) -> Path:
    """Take all space but `leave` bytes."""
    path = folder / "ballast"
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    path.write_bytes(b"x" * (free - leave))
    return path


def check(error: OutOfSpaceError, workspace: Workspace) -> None:
    assert "no space left on the device of" in str(error)
    assert "\n" not in str(error)
    published = [path for path in workspace.store.rglob("*") if path.is_file()]
    assert published == []


def heavy(size: int, item: int) -> Mapping[str, Sequence[Record]]:
    noise = os.urandom(size).hex()
    return {"numbers": [Number(value=item, square=0, notes=noise)]}


def test_while_shards_are_written(small_disk: Path) -> None:
    workspace = Workspace(small_disk / "root")

    def run(out: Output) -> None:
        out.batch_shards(
            {"numbers": Number},
            range(12),
            lambda items: {"numbers": [heavy(MEGABYTE // 2, item)["numbers"][0] for item in items]},
            key=str,
            shard_size=1,
        )

    with pytest.raises(OutOfSpaceError) as caught:
        execute(AdHoc(run), Empty(), {}, Store(workspace))
    check(caught.value, workspace)
    assert not [path for path in workspace.work.rglob("*") if path.name.startswith(".")], "no half shard"


def test_while_a_worker_writes(small_disk: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "root")

    def run(out: Output) -> None:
        work = functools.partial(writes_a_file, small_disk)
        out.shards({"numbers": Number}, range(8), work, key=str, workers=2)

    with pytest.raises(OutOfSpaceError) as caught:
        execute(AdHoc(run), Empty(), {}, Store(workspace))
    check(caught.value, workspace)


def test_when_a_library_says_so_in_its_own_way(tmp_path: Path) -> None:
    def run(out: Output) -> None:
        raise RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)")

    workspace = Workspace(tmp_path)
    with pytest.raises(OutOfSpaceError) as caught:
        execute(AdHoc(run), Empty(), {}, Store(workspace))
    check(caught.value, workspace)


def writes_a_file(folder: Path, item: int) -> Mapping[str, Sequence[Record]]:
    (folder / f"file{item}").write_bytes(b"x" * MEGABYTE)
    return {}


@pytest.mark.parametrize("leave", [0, 4096, 16384])
def test_at_any_point_and_then_again(small_disk: Path, leave: int) -> None:
    workspace = Workspace(small_disk / "root")
    workspace.root.mkdir()
    ballast = fill(small_disk, leave)
    with pytest.raises(OutOfSpaceError) as caught:
        run_square(workspace, SquareConfig(count=40))
    check(caught.value, workspace)
    ballast.unlink()
    made = run_square(workspace, SquareConfig(count=40))
    assert made.manifest.rejected == {"fifth": 8}
    assert made.manifest.rows == {"numbers": 32}


def test_while_publishing_to_another_device(small_disk: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "root")
    store = Store(small_disk / "store", workspace=workspace)

    def run(out: Output) -> None:
        (out.folder("model") / "small").write_bytes(b"x")
        (out.folder("model") / "weights").write_bytes(b"x" * 5 * MEGABYTE)

    with pytest.raises(OutOfSpaceError) as caught:
        execute(AdHoc(run), Empty(), {}, store)
    assert "\n" not in str(caught.value)
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []
    assert store.all() == []
