"""Look-up, digests, pointers; on a local folder and on S3 alike."""

import pickle
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from components.records.errors import ConfigError, CorruptionError, InfrastructureError, InputError
from components.store import Dataset, Store, Workspace, execute
from components.store.manifest import dump_manifest, load_manifest
from components.store.s3 import S3Objects
from tests.store.s3_server import S3Server
from tests.store.stages import Number, Square, SquareConfig, run_square

pytestmark = pytest.mark.integration


@pytest.fixture(params=["local", "s3", "s3-prefix"])
def any_store(request: pytest.FixtureRequest, workspace: Workspace) -> Store:
    if request.param == "local":
        return Store(workspace)
    server: S3Server = request.getfixturevalue("s3")
    url = f"s3://{server.bucket()}" + ("/some/prefix" if request.param == "s3-prefix" else "")
    return Store(url, workspace=workspace, endpoint_url=server.endpoint_url)


def make(store: Store, config: SquareConfig | None = None) -> Dataset:
    store.workspace.root.mkdir(parents=True, exist_ok=True)
    return execute(Square(), config or SquareConfig(), {}, store)


def elsewhere(store: Store, tmp_path: Path) -> Store:
    """The same store from a machine with empty caches."""
    workspace = Workspace(tmp_path / "elsewhere")
    if store.objects.local:
        return Store(store.objects.url, workspace=workspace)
    assert isinstance(store.objects, S3Objects)
    return Store(store.objects.url, workspace=workspace, endpoint_url=store.objects.endpoint_url)


def test_found_by_key_digest_and_prefix(any_store: Store, tmp_path: Path) -> None:
    made = make(any_store)
    other = make(any_store, SquareConfig(count=2))
    store = elsewhere(any_store, tmp_path)
    found = store.lookup(made.manifest.key)
    assert found is not None and found.manifest == made.manifest
    assert store.get(made.digest).manifest == made.manifest
    assert store.get(made.digest[:10]).rows("numbers", Number) == made.rows("numbers", Number)
    assert store.get(made.digest).file("files/text").name == "text"
    assert (store.get(made.digest).folder / "files/text/readme.txt").read_text() == "squares"
    assert {manifest.digest for manifest in store.all()} == {made.digest, other.digest}
    assert store.lookup("0" * 64) is None
    store.verify(made.digest)


def test_second_run_is_cached(any_store: Store, tmp_path: Path) -> None:
    first = make(any_store)
    assert make(any_store).cached
    assert make(elsewhere(any_store, tmp_path)).digest == first.digest


def test_digest_is_the_same_everywhere(any_store: Store, tmp_path: Path) -> None:
    assert make(any_store).digest == run_square(Workspace(tmp_path / "reference")).digest


@pytest.mark.parametrize("prefix", ["", "ffff"])
def test_unknown_digest(any_store: Store, prefix: str) -> None:
    make(any_store)
    make(any_store, SquareConfig(count=2))
    with pytest.raises(InputError, match="a digest beginning with"):
        any_store.get(prefix)


def test_pointers(any_store: Store) -> None:
    a, b = make(any_store), make(any_store, SquareConfig(count=2))
    assert any_store.pointer("iterations/0001") is None
    any_store.set_pointer("iterations/0001", a.digest)
    any_store.set_pointer("iterations/0002", a.digest)
    any_store.set_pointer("iterations/0002", b.digest[:12])
    assert any_store.pointers("iterations") == {"0001": a.digest, "0002": b.digest}
    with pytest.raises(InputError):
        any_store.set_pointer("iterations/0003", "ffff")
    any_store.objects.write("pointers/bad", b"nonsense")
    with pytest.raises(CorruptionError, match="bad"):
        any_store.pointer("bad")


def test_lost_file_is_made_again(any_store: Store) -> None:
    made = make(any_store)
    any_store.objects.delete(f"{made.name}/{made.manifest.files[-1].path}")
    again = make(any_store)
    assert not again.cached
    assert again.digest == made.digest
    any_store.verify(made.digest)


def test_only_one_of_two_publishers_counts(any_store: Store, tmp_path: Path) -> None:
    """Two machines, so no lock between them, make other data under one key."""
    made = make(any_store)
    store = elsewhere(any_store, tmp_path)
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "x").write_text("x")
    file = made.manifest.files[0].model_copy(update={"path": "x"})
    late = made.manifest.model_copy(update={"files": (file,)})
    assert store.publish(late, folder).manifest == made.manifest
    assert [manifest.digest for manifest in store.all()] == [made.digest]


def test_store_travels_to_workers(any_store: Store) -> None:
    made = make(any_store)
    assert pickle.loads(pickle.dumps(made)).rows("numbers", Number) == made.rows("numbers", Number)


def test_remote_corruption_is_found_and_a_bad_cache_is_not_blamed(s3: S3Server, workspace: Workspace) -> None:
    bucket = s3.bucket()
    store = Store(f"s3://{bucket}", workspace=workspace, endpoint_url=s3.endpoint_url)
    made = make(store)
    path = made.file(made.manifest.files[0].path)
    path.write_bytes(b"x" * path.stat().st_size)
    made.verify()
    path.write_bytes(b"x" * path.stat().st_size)
    assert store.get(made.digest).file(made.manifest.files[0].path).read_bytes()[:1] != b"x"
    name = f"{made.name}/{made.manifest.files[0].path}"
    s3.client().put_object(Bucket=bucket, Key=name, Body=b"x" * path.stat().st_size)
    with pytest.raises(CorruptionError, match=re.escape(f"s3://{bucket}/{name}")):
        store.verify(made.digest)


def test_s3_says_in_one_line_what_is_wrong(s3: S3Server, workspace: Workspace) -> None:
    with pytest.raises(InfrastructureError, match=r"s3://no-such-bucket"):
        Store("s3://no-such-bucket", workspace=workspace, endpoint_url=s3.endpoint_url).all()
    with pytest.raises(ConfigError, match="s3://bucket"):
        Store("gs://bucket", workspace=workspace)


def test_threads_of_one_key_take_turns(workspace: Workspace, store: Store) -> None:
    made: list[Dataset] = []

    def run() -> None:
        made.append(run_square(workspace, SquareConfig(seconds=0.02)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(dataset.cached for dataset in made) == [False, True, True, True]
    assert len({dataset.digest for dataset in made}) == 1


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :]


def test_every_byte_of_a_manifest_counts(workspace: Workspace) -> None:
    data = dump_manifest(run_square(workspace).manifest)
    assert dump_manifest(load_manifest(data, "here")) == data
    changes: list[Callable[[bytes], bytes]] = [lambda d: d[:-1], lambda d: d + b" ", lambda d: b""]
    for damage in [*changes, *(lambda d, at=at: flip(d, at) for at in range(len(data)))]:
        with pytest.raises(CorruptionError, match=r"^here: corrupt"):
            load_manifest(damage(data), "here")
