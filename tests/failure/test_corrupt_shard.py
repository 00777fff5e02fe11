"""A flipped byte anywhere in a dataset is found before its rows are believed, and named."""

from pathlib import Path

import pytest

from components.records.errors import CorruptionError
from components.store import Store, Workspace
from tests.store.stages import Number, run_square


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x01
    path.write_bytes(data)


FILES = ["tables/numbers-00000.parquet", "files/text/readme.txt"]


@pytest.mark.parametrize("name", FILES)
def test_cache_hit_on_a_corrupt_file_names_it(workspace: Workspace, name: str) -> None:
    path = run_square(workspace).folder / name
    flip(path)
    with pytest.raises(CorruptionError) as caught:
        run_square(workspace)
    assert str(caught.value).startswith(f"{path}: corrupt, expected sha256 ")
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code != 0


@pytest.mark.parametrize("name", FILES)
def test_what_the_message_says_helps(workspace: Workspace, name: str) -> None:
    made = run_square(workspace)
    flip(made.folder / name)
    (workspace.store / made.name / name).unlink()
    again = run_square(workspace)
    assert again.digest == made.digest
    again.verify()
    assert run_square(workspace).cached


def test_reading_verifies_even_after_the_look_up(workspace: Workspace) -> None:
    made = run_square(workspace)
    made.rows("numbers", Number)
    flip(made.folder / FILES[0])
    for read in (lambda: made.rows("numbers", Number), lambda: made.table("numbers"), lambda: made.folder):
        with pytest.raises(CorruptionError, match="numbers-00000"):
            read()
    flip(workspace.store / made.name / FILES[1])
    with pytest.raises(CorruptionError, match="readme"):
        made.file("files/text")


def test_shortened_file(workspace: Workspace) -> None:
    path = run_square(workspace).folder / FILES[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptionError, match="numbers-00000"):
        run_square(workspace)


@pytest.mark.parametrize("which", ["manifests", "datasets"])
def test_corrupt_manifest_is_named(workspace: Workspace, which: str) -> None:
    made = run_square(workspace)
    name = f"manifests/{made.manifest.key}.json" if which == "manifests" else f"{made.name}/manifest.json"
    flip(workspace.store / name)
    store = Store(workspace)
    with pytest.raises(CorruptionError, match=name):
        if which == "manifests":
            store.lookup(made.manifest.key)
        else:
            store.verify(made.digest)
    (workspace.store / name).unlink()
    assert run_square(workspace).digest == made.digest


def test_manifest_in_another_place_is_refused(workspace: Workspace) -> None:
    made = run_square(workspace)
    path = workspace.store / "manifests" / f"{made.manifest.key}.json"
    path.rename(path.with_name(f"{'0' * 64}.json"))
    with pytest.raises(CorruptionError, match="0000"):
        Store(workspace).lookup("0" * 64)


def test_damaged_dataset_is_put_right_by_a_run_with_the_same_result(workspace: Workspace) -> None:
    """The stage cache forgets, the dataset is still there, damaged: publishing replaces what is damaged."""
    made = run_square(workspace)
    store = Store(workspace)
    for name in [*FILES, "manifest.json"]:
        flip(workspace.store / made.name / name)
    store.forget(made.manifest.key)
    again = run_square(workspace)
    assert again.digest == made.digest
    store.verify(made.digest)
