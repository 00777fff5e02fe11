"""The chain that holds, and each way in which it does not."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from rich.console import Console

from components.lineage.audit import audit_checkpoint
from components.lineage.commands import audit
from components.records.errors import InputError
from components.records.evaluation import MixWeight
from components.records.quality import Quarantined, Verdict
from components.records.task import Candidate
from components.records.training import Checkpoint, Example
from components.records.trajectory import Trajectory
from components.store import Dataset, Store
from tests.chain import (
    Tables,
    candidate,
    publish,
    publish_base,
    publish_checkpoint,
    publish_repositories,
    publish_tasks,
    publish_trajectories,
    repository,
    task,
    trajectory,
)
from tests.lineage.world import BOLTONS, CLOSED, TOOLZ, World


def shown(world: World, ref: str, **options: Any) -> tuple[int, str]:
    out = io.StringIO()
    code = audit(world.store, ref, Console(file=out, width=200, force_terminal=False), **options)
    return code, out.getvalue()


def test_the_whole_chain_is_verified(world: World) -> None:
    report = audit_checkpoint(world.store, "champion")
    assert report.ok and report.exit_code == 0 and report.problems == ()
    assert report.dataset == world.train.digest and report.aliases == ("champions/current",)
    stages = {node.stage for node in report.nodes}
    assert stages == {
        "train", "base_model", "curate", "gates", "distill", "validation", "synthesis", "repositories",
    }  # fmt: skip
    manifests = {node.digest for node in report.nodes}
    assert len(manifests) == 8 and report.files > 40
    assert report.teachers == {"oracle": 3}
    uses = {use.repository.id: (use.tasks, use.trajectories, use.examples) for use in report.sources}
    assert uses == {BOLTONS.id: (2, 2, 2), TOOLZ.id: (1, 1, 1), CLOSED.id: (0, 0, 0)}


def test_every_level_is_joined_to_the_one_behind_it(world: World) -> None:
    links = {
        (link.child.split(".")[0], link.parent.split(".")[0]): link
        for link in audit_checkpoint(world.store).links
    }
    assert {pair: link.rows for pair, link in links.items()} == {
        ("examples", "accepted"): 3,
        ("accepted", "trajectories"): 3,
        ("quarantine", "trajectories"): 1,
        ("trajectories", "tasks"): 4,
        ("tasks", "candidates"): 6,
        ("tasks", "repositories"): 6,
        ("candidates", "repositories"): 6,
        ("repositories", "environments"): 3,
    }
    assert not any(link.missing for link in links.values())


@pytest.mark.parametrize("by", ["alias", "pointer", "dataset", "checkpoint"])
def test_a_checkpoint_is_found_by_any_of_its_names(world: World, by: str) -> None:
    (row,) = world.train.rows("checkpoint", Checkpoint)
    ref = {
        "alias": "champion",
        "pointer": "champions/current",
        "dataset": world.train.digest[:16],
        "checkpoint": row.digest[:16],
    }[by]
    report = audit_checkpoint(world.store, ref)
    assert report.checkpoint == row and report.ok


def test_a_dataset_without_a_checkpoint_has_a_chain_too(world: World) -> None:
    report = audit_checkpoint(world.store, world.gates.digest)
    assert report.checkpoint is None and report.ok and len(report.nodes) == 5


@pytest.mark.parametrize("ref", ["", "nobody", "../../etc/passwd", "0" * 64, "champions/none"])
def test_a_name_for_nothing_is_refused(world: World, ref: str) -> None:
    with pytest.raises(InputError):
        audit_checkpoint(world.store, ref)


def test_no_champion_yet(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="no champion yet"):
        audit_checkpoint(Store(tmp_path), "champion")


def test_the_tree_shows_the_chain_down_to_the_licence(world: World) -> None:
    code, text = shown(world, "champion")
    assert code == 0 and "verified" in text and "NOT VERIFIED" not in text
    for word in ["train", "curate", "gates", "distill", "validation", "synthesis", "BSD-3-Clause", "LICENSE"]:
        assert word in text
    assert text.index("curate") < text.index("gates") < text.index("distill") < text.index("synthesis")
    assert "Data Docs" in text and "learning" not in text.split("repositories")[-1]


def test_json_is_one_document(world: World) -> None:
    code, text = shown(world, "champion", as_json=True)
    told = json.loads(text)
    assert code == 0 and told["dataset"] == world.train.digest and told["problems"] == []


@pytest.mark.slow
def test_it_is_quick_for_300_megabytes_of_weights(tmp_path: Any, world: World) -> None:
    store = Store(tmp_path)
    base = publish_base(store, bytes(300_000_000))
    reports = [audit_checkpoint(store, base.digest) for _ in range(3)]
    assert all(report.ok and report.bytes > 300_000_000 for report in reports)
    assert min(report.seconds for report in reports) < 3  # the best of three: the machine may be busy


def test_what_only_steered_is_verified_and_not_followed(world: World) -> None:
    """Else the chain of the hundredth nightly run would hold the weights of ninety-nine others."""
    store = world.store
    weight = MixWeight(strategy="x", repository_id=BOLTONS.id, attempted=1, resolved=0, weight=1.0)
    analysis = publish(store, "analyse", {"trained": world.train}, {"mix": (MixWeight, [weight])})
    steered = publish(
        store,
        "synthesis",
        {"repositories": world.repositories, "mix": analysis},
        {"candidates": (Candidate, [candidate(77, BOLTONS)])},
    )
    report = audit_checkpoint(store, steered.digest)
    assert {node.stage for node in report.nodes} == {"synthesis", "repositories", "analyse"} and report.ok
    assert {node.stage for node in report.nodes if not node.followed} == {"analyse"}
    assert "steered the mix" in shown(world, steered.digest)[1]
    assert "train" in {node.stage for node in audit_checkpoint(store, analysis.digest).nodes}


def train_on(world: World, rows: Sequence[Example], inputs: Mapping[str, Dataset] | None = None) -> Dataset:
    given = inputs or {"tasks": world.tasks, "gates": world.gates}
    examples = publish(world.store, "curate", given, {"examples": (Example, rows)})
    return publish_checkpoint(world.store, examples, world.base, weights=examples.digest.encode())


def problems(world: World, checkpoint: Dataset) -> str:
    report = audit_checkpoint(world.store, checkpoint.digest)
    assert report.exit_code == 1 and not report.ok
    assert {problem.kind for problem in report.problems} <= {"broken link", "policy"}
    return "\n".join(problem.detail for problem in report.problems)


def test_an_example_of_a_trajectory_that_was_not_accepted_is_a_broken_link(world: World) -> None:
    (row, *rest) = world.examples.rows("examples", Example)
    forged = row.model_copy(update={"trajectory_id": f"{row.task_id}#oracle.flywheel.7"})
    text = problems(world, train_on(world, [forged, *rest]))
    assert "1 of 3 rows of examples.(trajectory_id, task_id, repository_id)" in text and "flywheel.7" in text


def test_an_example_that_names_the_trajectory_of_another_task_is_a_broken_link(world: World) -> None:
    (row, other, *rest) = world.examples.rows("examples", Example)
    forged = row.model_copy(update={"task_id": other.task_id})
    assert "1 of 3 rows of examples" in problems(world, train_on(world, [forged, other, *rest]))


def test_a_task_without_its_candidate_is_a_broken_link(world: World) -> None:
    store = world.store
    orphan = task(1, BOLTONS, parents=("boltons@26.2.0/procedural.compare_flip/ffffffff",))
    tasks = publish_tasks(store, world.repositories, [orphan])
    text = problems(world, tasks)
    assert "tasks.parents" in text and "ffffffff" in text


def test_a_chain_that_leaves_a_level_out_is_broken(world: World) -> None:
    checkpoint = train_on(world, world.examples.rows("examples", Example)[:2], {"tasks": world.tasks})
    assert "no dataset behind it has the table 'accepted'" in problems(world, checkpoint)


def gates_with(world: World, tables: Tables) -> Dataset:
    inputs = {"tasks": world.tasks, "trajectories": world.trajectories}
    return publish(world.store, "gates", inputs, tables)


def test_gates_that_lost_a_row_or_let_a_refused_one_pass_are_named(world: World) -> None:
    rows = world.trajectories.rows("trajectories", Trajectory)
    refusal = Verdict(
        gate="licence", expectation="x", severity="block", outcome="fail", checked=4, offending=(rows[0].id,)
    )
    error = Verdict(gate="hacks", expectation="x", severity="warn", outcome="error", checked=0, detail="boom")
    gates = gates_with(
        world,
        {
            "accepted": (Trajectory, rows[:2]),
            "quarantine": (
                Quarantined,
                [Quarantined(row_id=rows[1].id, parent_id=rows[1].task_id, reasons=("x",))],
            ),
            "verdicts": (Verdict, [refusal, error]),
        },
    )
    text = problems(world, gates)
    assert f"licence refused {rows[0].id}, which was accepted" in text
    assert f"{rows[1].id} is both accepted and in quarantine" in text
    assert f"{min(row.id for row in rows[2:])} is neither accepted nor in quarantine" in text
    assert "hacks could not be evaluated: boom" in text


def test_held_out_rows_and_closed_repositories_in_the_examples_are_named(world: World) -> None:
    store = world.store
    held, closed = task(5, BOLTONS, "heldout"), task(6, CLOSED, "heldout_repo")
    rows = [trajectory(held), trajectory(closed)]
    inputs = {
        "tasks": world.tasks,
        "trajectories": publish_trajectories(store, world.repositories, world.tasks, rows),
    }
    empty: Tables = {
        "accepted": (Trajectory, rows),
        "quarantine": (Quarantined, []),
        "verdicts": (Verdict, []),
    }
    gates = publish(store, "gates", inputs, empty)
    examples = [
        Example(
            id=row.id, task_id=row.task_id, trajectory_id=row.id, repository_id=row.repository_id, messages=()
        )
        for row in rows
    ]
    text = problems(world, train_on(world, examples, {"tasks": world.tasks, "gates": gates}))
    assert "2 held-out tasks were learnt from" in text and "may never be trained on" in text


def test_examples_without_a_licence_are_named(world: World) -> None:
    store = world.store
    bare = repository("bare", "1.0", "NOASSERTION")
    repositories = publish_repositories(store, [bare])
    tasks = publish_tasks(store, repositories, [task(1, bare)])
    rows = [trajectory(task(1, bare))]
    trajectories = publish_trajectories(store, repositories, tasks, rows)
    gates = publish(
        store,
        "gates",
        {"tasks": tasks, "trajectories": trajectories},
        {"accepted": (Trajectory, rows), "quarantine": (Quarantined, []), "verdicts": (Verdict, [])},
    )
    row = rows[0]
    example = Example(
        id="1", task_id=row.task_id, trajectory_id=row.id, repository_id=row.repository_id, messages=()
    )
    text = problems(world, train_on(world, [example], {"tasks": tasks, "gates": gates}))
    assert "bare@1.0: 1 examples, and no licence with evidence" in text


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ({"digest": "2" * 64}, "its digest is not that of its files"),
        ({"files": ()}, "its files are not those of its dataset"),
        ({"datasets": ("1" * 64,)}, "it names dataset 111111111111, which its run was not given"),
        ({"base_model": "another"}, "its base model another was not its input"),
    ],
)
def test_a_checkpoint_row_that_tells_another_story_is_named(
    world: World, about: dict[str, Any], expected: str
) -> None:
    made = publish_checkpoint(world.store, world.examples, world.base, weights=b"other", **about)
    assert expected in problems(world, made)


def test_what_is_wrong_is_printed_and_markup_in_ids_is_not_read(world: World) -> None:
    (row, *rest) = world.examples.rows("examples", Example)
    forged = row.model_copy(update={"trajectory_id": "[bold]x[/bold]"})
    made = train_on(world, [forged, *rest])
    code, text = shown(world, made.digest)
    assert code == 1 and "NOT VERIFIED" in text and "[bold]x[/bold]" in text
