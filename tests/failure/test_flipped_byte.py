"""One flipped byte anywhere on the chain makes the audit exit non-zero and name the file."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from components.lineage.commands import audit
from components.records.errors import CorruptionError
from components.store import Store
from tests.lineage.world import make_world


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_world(tmp_path_factory.mktemp("damaged")).store


def check(store: Store) -> tuple[int, str]:
    out = io.StringIO()
    try:
        return audit(store, "champion", Console(file=out, width=100)), out.getvalue()
    except CorruptionError as error:
        return error.exit_code, str(error)


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def artefacts(store: Store) -> list[Path]:
    """One file of every kind that the chain has, by stage: tables, weights, pages, manifests, pointers."""
    root = store.workspace.store
    kinds: dict[tuple[str, str], Path] = {}
    for manifest in store.all():
        for path, name in manifest.object_names().items():
            kinds.setdefault((manifest.stage, Path(path).suffix), root / name)
            if path.startswith("tables/") or path == "manifest.json":
                kinds[manifest.stage, path] = root / name
        kinds[manifest.stage, "run manifest"] = root / "manifests" / f"{manifest.key}.json"
    return [*kinds.values(), root / "pointers" / "champions" / "current"]


def test_a_flipped_byte_is_found_in_every_artefact(store: Store) -> None:
    assert check(store)[0] == 0
    paths = artefacts(store)
    assert len(paths) > 30
    for path in paths:
        before = path.read_bytes()
        if not before:
            continue
        flip(path, len(before) // 2)
        code, text = check(store)
        assert code != 0, f"{path} was not noticed"
        assert path.name in text and path.parent.name in text, f"{path} is not named: {text}"
        path.write_bytes(before)
    assert check(store)[0] == 0


def test_a_missing_file_is_named(store: Store) -> None:
    path = next(path for path in artefacts(store) if path.name == "model.safetensors")
    aside = path.rename(path.with_name("aside"))
    code, text = check(store)
    assert code == CorruptionError.exit_code and str(path) in text.replace("\n", "")
    aside.rename(path)


def test_a_missing_dataset_is_named(store: Store) -> None:
    manifest = next(manifest for manifest in store.all() if manifest.stage == "synthesis")
    folder = store.workspace.store / "datasets" / manifest.digest
    aside = folder.rename(folder.parent.parent / "aside")
    code, text = check(store)
    assert code == CorruptionError.exit_code and f"{manifest.digest}/manifest.json: missing" in text.replace(
        "\n", ""
    )
    aside.rename(folder)


def test_a_file_that_nobody_wrote_is_named(store: Store) -> None:
    path = next(path for path in artefacts(store) if path.name == "model.safetensors")
    stray = path.with_name("adapter.safetensors")
    stray.write_bytes(b"x")
    code, text = check(store)
    assert code == CorruptionError.exit_code and "adapter.safetensors: not in the manifest" in text.replace(
        "\n", ""
    )
    stray.unlink()
    assert check(store)[0] == 0
