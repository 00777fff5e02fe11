"""DVC believes its index and the `.dir` files of the remote; we look at every object before a tag moves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.records.errors import InfrastructureError, InputError
from components.store import Dataset, Store, Workspace
from components.store.dvc import Ledger
from components.store.remote import RemoteIncomplete
from tests.store.s3_server import serve_s3
from tests.store.stages import Number, SquareConfig, run_square

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PUBLISH = """
import sys
from pathlib import Path
from components.store import Store, Workspace
from components.store.dvc import Ledger
root, remote, key, number = sys.argv[1:]
workspace = Workspace(Path(root))
Ledger(workspace, remote).publish({"numbers": Store(workspace).lookup(key)}, iteration=int(number))
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One dataset, published: starting DVC is the slow part of these tests."""
    folder = tmp_path_factory.mktemp("template")
    workspace = Workspace(folder / "workspace")
    Ledger(workspace, folder / "remote").publish({"numbers": run_square(workspace)})
    return folder


@pytest.fixture
def published(template: Path, workspace: Workspace, remote: Path) -> dict[str, Dataset]:
    shutil.copytree(template / "workspace", workspace.root)
    shutil.copytree(template / "remote", remote)
    return {"numbers": run_square(workspace)}


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return tmp_path / "remote"


def publisher(workspace: Workspace, remote: Path, dataset: Dataset, number: int) -> "subprocess.Popen[str]":
    arguments = [str(workspace.root), str(remote), dataset.manifest.key, str(number)]
    return subprocess.Popen(
        [sys.executable, "-c", PUBLISH, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def objects(remote: Path) -> list[Path]:
    return sorted(path for path in remote.rglob("*") if path.is_file() and path.suffix != ".dir")


def tags(workspace: Workspace) -> list[str]:
    command = ["git", "-C", str(workspace.data), "tag"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_eight_publishers_at_once_all_land(workspace: Workspace, remote: Path) -> None:
    made = [run_square(workspace, SquareConfig(count=n + 2)) for n in range(8)]
    running = [publisher(workspace, remote, dataset, n) for n, dataset in enumerate(made)]
    assert [(process.communicate()[1], process.returncode) for process in running] == [("", 0)] * 8
    ledger = Ledger(workspace, remote)
    assert tags(workspace) == [f"iter/{n:04d}" for n in range(8)]
    for n, dataset in enumerate(made):
        assert ledger.iteration(n) == {"numbers": dataset.digest}
    ledger.verify(made)


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: rewrite(path, b"x")], ids=["lost", "changed"])
def test_damaged_remote_object_stops_the_tag_and_is_repaired(
    workspace: Workspace, remote: Path, published: dict[str, Dataset], damage: Callable[[Path], None]
) -> None:
    ledger = Ledger(workspace, remote)
    assert len(objects(remote)) == 3  # a table, a text, the manifest
    victim = objects(remote)[1]
    damage(victim)
    with pytest.raises(RemoteIncomplete, match=victim.name):
        ledger.tag(published, 1)
    assert tags(workspace) == []
    ledger.repair(list(published.values()))
    ledger.tag(published, 1)
    assert tags(workspace) == ["iter/0001"]


def rewrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def test_publishing_again_repairs_remote_and_cache(
    workspace: Workspace, remote: Path, published: dict[str, Dataset]
) -> None:
    ledger = Ledger(workspace, remote)
    shutil.rmtree(remote)
    shutil.rmtree(workspace.data / ".dvc" / "cache")
    ledger.publish(published, iteration=1)
    ledger.verify(list(published.values()))
    assert ledger.publish(published, iteration=1) == ledger.publish(published, iteration=1), (
        "nothing new, no commit"
    )


def test_remote_that_stays_incomplete_is_refused(
    workspace: Workspace, remote: Path, published: dict[str, Dataset]
) -> None:
    ledger = Ledger(workspace, remote)
    [listing] = remote.rglob("*.dir")
    rewrite(listing, json.dumps([]).encode())
    with pytest.raises(RemoteIncomplete, match=r"1 of its objects, first .*\.dir"):
        ledger.tag(published, 1)
    other = run_square(workspace, SquareConfig(count=3))
    with pytest.raises(InputError, match="not published"):
        ledger.tag({"numbers": other}, 1)


def test_killed_publisher_leaves_nothing_in_the_way(
    workspace: Workspace, remote: Path, published: dict[str, Dataset]
) -> None:
    """SIGKILL at several instants; what it held is free again and the next publisher completes its work."""
    datasets = [run_square(workspace, SquareConfig(count=n + 2)) for n in range(4)]
    for number, seconds in enumerate((0.6, 1.2, 1.8)):
        process = publisher(workspace, remote, datasets[number + 1], 1)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    for lock in (".git/index.lock", ".git/HEAD.lock", ".git/refs/heads/main.lock"):
        (workspace.data / lock).touch()
    stale = {str(workspace.data / "datasets"): [{"pid": 1, "cmd": "dvc add"}]}
    (workspace.data / ".dvc" / "tmp" / "rwlock").write_text(json.dumps({"k": {"write": stale}}))
    workspace.locks.joinpath("data.working").touch()
    ledger = Ledger(workspace, remote)
    data = {f"numbers{n}": dataset for n, dataset in enumerate(datasets)}
    ledger.publish(data, iteration=1)
    assert ledger.iteration(1) == {name: dataset.digest for name, dataset in data.items()}
    clean = subprocess.run(
        ["git", "-C", str(workspace.data), "status", "--porcelain"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert clean.stdout == ""


def test_lost_store_is_restored(workspace: Workspace, remote: Path, published: dict[str, Dataset]) -> None:
    made = published["numbers"]
    rows = made.rows("numbers", Number)
    ledger = Ledger(workspace, remote)
    shutil.rmtree(workspace.store)
    shutil.rmtree(workspace.data / ".dvc" / "cache")
    shutil.rmtree(workspace.data / "datasets" / f"square-{made.digest}.{made.manifest.key[:12]}")
    restored = ledger.restore(made.digest[:12], Store(workspace))
    assert restored.rows("numbers", Number) == rows
    assert run_square(workspace).cached
    with pytest.raises(InputError, match="no single dataset"):
        ledger.restore("ffff", Store(workspace))


def test_failure_of_dvc_is_one_line(
    workspace: Workspace, tmp_path: Path, published: dict[str, Dataset]
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InfrastructureError, match=r"^dvc push .* failed: ERROR.*Not a directory") as caught:
        Ledger(workspace, tmp_path / "file" / "remote").publish(published)
    assert "\n" not in str(caught.value)


def test_command_that_hangs_is_stopped(
    workspace: Workspace, remote: Path, published: dict[str, Dataset]
) -> None:
    with pytest.raises(InfrastructureError, match=r"no answer in 0\.05 s"):
        Ledger(workspace, remote, timeout=0.05).publish(published)
    Ledger(workspace, remote).publish(published, iteration=1)


@pytest.fixture(scope="module")
def s3_remote() -> Iterator[tuple[str, str, Callable[[], list[str]], Callable[[str], None]]]:
    with serve_s3() as server:
        bucket, client = server.bucket(), server.client()

        def names() -> list[str]:
            return [entry["Key"] for entry in client.list_objects_v2(Bucket=bucket)["Contents"]]

        def delete(name: str) -> None:
            client.delete_object(Bucket=bucket, Key=name)

        yield f"s3://{bucket}/dvc", server.endpoint_url, names, delete


def test_s3_remote(
    workspace: Workspace, s3_remote: tuple[str, str, Callable[[], list[str]], Callable[[str], None]]
) -> None:
    url, endpoint, names, delete = s3_remote
    data = {"numbers": run_square(workspace)}
    ledger = Ledger(workspace, url, endpoint_url=endpoint)
    ledger.publish(data, iteration=1)
    victim = next(name for name in names() if not name.endswith(".dir"))
    delete(victim)
    with pytest.raises(RemoteIncomplete):
        ledger.tag(data, 2)
    ledger.repair(list(data.values()))
    ledger.tag(data, 2)
    assert victim in names()
    assert tags(workspace) == ["iter/0001", "iter/0002"]


def test_same_dataset_of_another_run_harms_no_older_tag(
    workspace: Workspace, remote: Path, published: dict[str, Dataset]
) -> None:
    """Equal digest, another manifest: the older tag goes on finding every object of its own."""
    ledger = Ledger(workspace, remote)
    ledger.tag(published, 1)
    before = {path.relative_to(remote) for path in remote.rglob("*")}
    other = published["numbers"].manifest.model_copy(update={"machine": "another"})
    again = {"numbers": Dataset(other, Store(workspace).objects)}
    with pytest.raises(RemoteIncomplete):
        ledger.tag(again, 2)
    ledger.publish(again, iteration=2)
    assert before < {path.relative_to(remote) for path in remote.rglob("*")}
    assert ledger.iteration(1) == ledger.iteration(2)
