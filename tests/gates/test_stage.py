"""The stage on real datasets, through Great Expectations. Its import takes seconds: one run, many looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from components.gates.config import GatesConfig
from components.gates.features import Feature
from components.gates.stage import GatesStage
from components.records.errors import InputError
from components.records.quality import Quarantined, Verdict
from components.records.trajectory import ExitStatus, Trajectory
from components.store import Dataset, Store, Workspace, execute
from tests.chain import (
    grade,
    publish_repositories,
    publish_tasks,
    publish_trajectories,
    repository,
    task,
    trajectory,
)

BOLTONS = repository()
COPYLEFT = repository("copyleft", "1.0", "GPL-3.0-only")
SILENT = repository("silent", "1.0", "NOASSERTION")

HELD = task(90, BOLTONS, "heldout")
TASKS = {
    "good": task(1, BOLTONS),
    "twice": task(2, BOLTONS),
    "copyleft": task(3, COPYLEFT),
    "silent": task(4, SILENT),
    "unresolved": task(5, BOLTONS),
    "hacked": task(6, BOLTONS),
    "told": task(7, BOLTONS, problem_statement=HELD.problem_statement),
    "leaky": task(8, BOLTONS, problem_statement="Write return limit_8 < value"),
    "turns": task(10, BOLTONS),
}
HACKED_PATCH = "--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-a\n+b\n"
ROWS = {
    "good": trajectory(TASKS["good"]),
    "twice": trajectory(TASKS["twice"]),
    "twice again": trajectory(TASKS["twice"], 1),
    "copyleft": trajectory(TASKS["copyleft"]),
    "silent": trajectory(TASKS["silent"]),
    "unresolved": trajectory(TASKS["unresolved"], resolved=False),
    "hacked": trajectory(
        TASKS["hacked"], grade=grade(TASKS["hacked"], hacks=["protected_path"]), patch=HACKED_PATCH
    ),
    "told": trajectory(TASKS["told"]),
    "leaky": trajectory(TASKS["leaky"]),
    "turns": trajectory(TASKS["turns"], exit_status=ExitStatus.TURN_LIMIT),
}


@dataclass
class Run:
    store: Store
    inputs: dict[str, Dataset]
    gates: Dataset


def inputs(store: Store, rows: Sequence[Trajectory]) -> dict[str, Dataset]:
    repositories = publish_repositories(store, [BOLTONS, COPYLEFT, SILENT])
    tasks = publish_tasks(store, repositories, [*TASKS.values(), HELD])
    trajectories = publish_trajectories(store, repositories, tasks, rows)
    return {"repositories": repositories, "tasks": tasks, "trajectories": trajectories}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store = Store(Workspace(tmp_path_factory.mktemp("gates")))
    given = inputs(store, list(ROWS.values()))
    return Run(store, given, execute(GatesStage(), GatesConfig(), given, store))


def test_bad_rows_are_quarantined_with_their_reasons(run: Run) -> None:
    rows = {row.row_id: row for row in run.gates.rows("quarantine", Quarantined)}
    reasons = {name: rows[made.id].reasons for name, made in ROWS.items() if made.id in rows}
    twin = reasons.pop("twice", None) or reasons.pop("twice again")
    assert twin == ("duplicate",)
    assert reasons == {
        "copyleft": ("licence",),
        "silent": ("licence",),
        "unresolved": ("resolved",),
        "hacked": ("hacks", "test_files"),
        "told": ("heldout_overlap",),
        "leaky": ("statement_leak",),
        "turns": ("submitted",),
    }
    assert rows[ROWS["copyleft"].id].parent_id == TASKS["copyleft"].id


def test_every_row_is_accepted_or_quarantined(run: Run) -> None:
    accepted = [row.id for row in run.gates.rows("accepted", Trajectory)]
    quarantined = [row.row_id for row in run.gates.rows("quarantine", Quarantined)]
    assert sorted(accepted + quarantined) == sorted(row.id for row in ROWS.values())
    assert len(accepted) == 2 and ROWS["good"].id in accepted
    assert run.gates.manifest.rejected["licence"] == 2
    assert sum(run.gates.manifest.rejected.values()) == len(quarantined)


def test_verdicts_cover_every_gate(run: Run) -> None:
    verdicts = {row.gate: row for row in run.gates.rows("verdicts", Verdict)}
    assert verdicts["licence"].outcome == "fail" and verdicts["licence"].severity == "block"
    assert verdicts["licence"].offending == (ROWS["copyleft"].id, ROWS["silent"].id)
    assert verdicts["licence"].checked == len(ROWS)
    assert verdicts["split"].outcome == "pass" and verdicts["min_rows"].outcome == "pass"
    assert verdicts["repository_share"].outcome == "fail"  # one repository is left: a warning
    assert not [row for row in verdicts.values() if row.outcome == "error"]


def test_features_are_kept_for_every_row(run: Run) -> None:
    rows = {row.id: row for row in run.gates.rows("features", Feature)}
    assert set(rows) == {row.id for row in ROWS.values()}
    assert rows[ROWS["good"].id].duplicate_of == ROWS["good"].id
    assert rows[ROWS["copyleft"].id].duplicate_of == ""
    assert rows[ROWS["told"].id].heldout_overlap == f"statement of {HELD.id}"


def test_data_docs_are_files_of_the_dataset(run: Run) -> None:
    site = run.gates.file("evidence/data_docs")
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    assert "index.html" in pages and "expectations/trajectories.html" in pages
    text = "".join((site / page).read_text() for page in pages)
    assert ROWS["copyleft"].id in text
    assert "great-expectations-web-assets" not in text  # nobody is told that the page was opened


def test_digest_and_evidence_are_the_same_in_another_place(run: Run, tmp_path: Path) -> None:
    store = Store(Workspace(tmp_path))
    again = execute(GatesStage(), GatesConfig(), inputs(store, list(ROWS.values())), store)
    assert again.digest == run.gates.digest
    assert again.manifest.files == run.gates.manifest.files


def test_waivers_and_severities_reach_the_rows(run: Run) -> None:
    waiver = {"gate": "licence", "reason": "own code", "expires": "2999-01-01"}
    config = GatesConfig.model_validate({"waivers": [waiver], "severities": {"submitted": "warn"}})
    gates = execute(GatesStage(), config, run.inputs, run.store)
    accepted = {row.id for row in gates.rows("accepted", Trajectory)}
    assert {ROWS["copyleft"].id, ROWS["silent"].id, ROWS["turns"].id} <= accepted
    verdict = next(row for row in gates.rows("verdicts", Verdict) if row.gate == "licence")
    assert verdict.outcome == "fail" and verdict.waiver == "own code (until 2999-01-01)"


def test_too_few_accepted_rows_stop_the_stage(run: Run) -> None:
    with pytest.raises(InputError, match=r"min_rows failed on 2 of 2 rows"):
        execute(GatesStage(), GatesConfig(min_rows=3), run.inputs, run.store)


def test_nothing_accepted_stops_the_stage(run: Run) -> None:
    given = {
        **run.inputs,
        "trajectories": publish_trajectories(
            run.store, run.inputs["repositories"], run.inputs["tasks"], [ROWS["unresolved"]]
        ),
    }
    with pytest.raises(InputError, match="min_rows failed"):
        execute(GatesStage(), GatesConfig(), given, run.store)


def test_no_rows_stop_the_stage(run: Run) -> None:
    given = {
        **run.inputs,
        "trajectories": publish_trajectories(run.store, run.inputs["repositories"], run.inputs["tasks"], []),
    }
    with pytest.raises(InputError, match="no rows"):
        execute(GatesStage(), GatesConfig(), given, run.store)
