"""The whole loop on the tiny repository: once, again from the store, then the iteration that follows."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.iteration import CHAMPION, judge
from components.records.evaluation import Comparison, MixWeight
from components.records.training import Checkpoint
from components.store.store import Store
from components.store.workspace import Workspace
from tests.loop import ROOT, datasets, run_loop, write_params

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loop")


@pytest.fixture(scope="module")
def first(folder: Path) -> dict[str, object]:
    return run_loop(write_params(folder))


@pytest.fixture(scope="module")
def store(folder: Path, first: dict[str, object]) -> Store:
    return Store(Workspace(folder / "state"))


def test_the_first_model_is_champion(store: Store, first: dict[str, object]) -> None:
    assert store.pointer(CHAMPION) == datasets(first)["train"]
    record = first["iteration"]
    assert isinstance(record, dict)
    assert (record["promoted"], record["reason"]) == (True, "the first model")


def test_again_everything_is_cached_and_the_same(
    folder: Path, store: Store, first: dict[str, object]
) -> None:
    before = {manifest.key for manifest in store.all()}
    started = time.monotonic()
    assert datasets(run_loop(folder / "params.yaml")) == datasets(first)
    assert time.monotonic() - started < 120
    assert {manifest.key for manifest in store.all()} == before


def test_mlflow_has_the_run_its_inputs_and_the_alias(store: Store, first: dict[str, object]) -> None:
    from components.tracking.mlflow_log import Tracker

    made = datasets(first)
    tracker = Tracker(store.workspace, "", "flywheel", "swe-agent")
    assert tracker.champion() == made["train"]
    runs = tracker._client.search_runs([tracker._experiment_id], f"dataset.digest = '{made['curate'][:32]}'")
    assert len(runs) == 1
    tags = {i.dataset.name: {t.key: t.value for t in i.tags}["sha256"] for i in runs[0].inputs.dataset_inputs}
    assert tags["curate"] == made["curate"]
    model = tracker._client.get_logged_model(runs[0].data.tags["flywheel.model_id"])
    assert str(model.status) == "READY"
    checkpoint = store.get(made["train"]).rows("checkpoint", Checkpoint)[0]
    assert model.tags["flywheel.checkpoint"] == checkpoint.digest


def test_the_data_repository_has_a_tag_and_the_remote_every_object(
    store: Store, first: dict[str, object]
) -> None:
    from components.store.dvc import Ledger

    ledger = Ledger(store.workspace, str(store.workspace.root / "remote"))
    assert ledger.iteration(1) == datasets(first)
    ledger.verify([store.get(digest) for digest in datasets(first).values()])


def test_the_audit_passes_and_speaks_json(folder: Path, first: dict[str, object]) -> None:
    line = ["audit", "checkpoint", "champion", "--params", str(folder / "params.yaml"), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "components.cli", *line], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    json.loads(done.stdout)


def test_the_page_is_self_contained(first: dict[str, object]) -> None:
    page = Path(str(first["report"])).read_text()
    assert "Held-out tasks resolved" in page
    assert 'src="http' not in page


def test_the_next_iteration_reads_the_mix_and_challenges_the_champion(
    folder: Path, store: Store, first: dict[str, object]
) -> None:
    second = run_loop(folder / "params.yaml", "--next")
    record = second["iteration"]
    assert isinstance(record, dict)
    synthesis = store.get(record["datasets"]["synthesis"])
    analysis = datasets(first)["analyse"]
    assert store.get(analysis).rows("mix", MixWeight)
    keys = [m for m in store.all() if m.stage == "synthesis" and m.digest == synthesis.digest]
    assert any(manifest.inputs.get("mix") == analysis for manifest in keys)
    assert record["number"] == 2
    assert record["champion_before"] == datasets(first)["train"]
    assert "compare_incumbent" in record["datasets"]


def comparison(low: float) -> Comparison:
    return Comparison(
        base="b", trained="t", suite="heldout", setting="visible", tasks=9, difference=0.1, low=low, high=0.3
    )


@pytest.mark.parametrize(
    ("found", "champion", "promoted"),
    [
        (None, "", True),
        (comparison(-0.1), "", True),
        (comparison(0.01), "c", True),
        (comparison(0.0), "c", False),
        (comparison(-0.1), "c", False),
        (None, "c", False),
    ],
)
def test_the_promotion_rule(found: Comparison | None, champion: str, promoted: bool) -> None:
    assert judge(found, champion)[0] is promoted
