import io
import json

import pytest
from rich.console import Console

from components.lineage.commands import audit_taint
from components.lineage.taint import Kind, taint
from components.records.errors import InputError
from components.records.training import Checkpoint, Example
from components.records.trajectory import Trajectory
from tests.chain import publish, publish_checkpoint, task, trajectory
from tests.lineage.world import BOLTONS, CLOSED, TOOLZ, World


def rows(world: World, kind: Kind, ref: str) -> dict[str, dict[str, int]]:
    return {
        row.stage: row.rows for row in taint(world.store, kind, ref).touched if row.digest in known(world)
    }


def known(world: World) -> set[str]:
    """Other tests add datasets to the same store."""
    made = [world.repositories, world.tasks, world.trajectories, world.gates, world.examples, world.train]
    return {dataset.digest for dataset in made}


def test_a_repository_reaches_the_champion(world: World) -> None:
    report = taint(world.store, "repository", TOOLZ.id)
    assert rows(world, "repository", TOOLZ.id) == {
        "repositories": {"environments": 1, "repositories": 1},
        "validation": {"tasks": 1},
        "distill": {"trajectories": 1},
        "gates": {"accepted": 1},
        "curate": {"examples": 1},
    }
    champion = next(row for row in report.checkpoints if row.dataset == world.train.digest)
    assert (champion.examples, champion.of, champion.through) == (1, 3, "")
    assert report.live == ("champions/current",) and report.exit_code == 1


def test_the_name_of_a_repository_stands_for_all_versions(world: World) -> None:
    assert taint(world.store, "repository", "toolz").items == (TOOLZ.id,)


def test_a_task_and_a_trajectory_touch_only_their_own_rows(world: World) -> None:
    one = task(1, BOLTONS)
    assert rows(world, "task", one.id) == {
        "validation": {"tasks": 1},
        "distill": {"trajectories": 1},
        "gates": {"accepted": 1},
        "curate": {"examples": 1},
    }
    assert "validation" not in rows(world, "trajectory", trajectory(one).id)


def test_what_was_quarantined_does_not_reach_the_champion(world: World) -> None:
    report = taint(world.store, "task", task(4, BOLTONS).id)
    assert rows(world, "task", task(4, BOLTONS).id)["gates"] == {"quarantine": 1}
    assert world.train.digest not in {row.dataset for row in report.checkpoints} and report.live == ()
    assert report.exit_code == 0


def test_a_held_out_repository_touches_tasks_only(world: World) -> None:
    assert set(rows(world, "repository", CLOSED.id)) == {"repositories", "validation"}


def test_taint_goes_through_a_tainted_teacher(world: World, tmp_path: object) -> None:
    """A champion acts in the next iteration: what it did is tainted, whatever the task."""
    store = world.store
    (teacher,) = world.train.rows("checkpoint", Checkpoint)
    student_row = trajectory(task(1, BOLTONS), 1, model=teacher.digest, demonstrator=False)
    inputs = {"tasks": world.tasks, "checkpoint": world.train}
    rollouts = publish(store, "distill", inputs, {"trajectories": (Trajectory, [student_row])})
    accepted = publish(
        store,
        "gates",
        {"trajectories": rollouts, "tasks": world.tasks},
        {"accepted": (Trajectory, [student_row])},
    )
    example = Example(
        id="s",
        task_id=student_row.task_id,
        trajectory_id=student_row.id,
        repository_id=student_row.repository_id,
        messages=(),
    )
    examples = publish(store, "curate", {"gates": accepted}, {"examples": (Example, [example])})
    second = publish_checkpoint(store, examples, world.base, weights=b"second")
    third = publish_checkpoint(store, examples, world.train, weights=b"third")

    found = {row.dataset: row for row in taint(store, "repository", TOOLZ.id).checkpoints}
    assert found[second.digest].examples == 1  # the row is of boltons, the actor has learnt from toolz
    assert found[third.digest].through == teacher.digest


def test_an_unknown_item_is_refused(world: World) -> None:
    for kind in ("repository", "task", "trajectory"):
        with pytest.raises(InputError, match=f"no dataset knows the {kind}"):
            taint(world.store, kind, "nobody@1.0")


def test_it_is_printed_and_its_exit_code_says_whether_a_champion_is_live(world: World) -> None:
    out = io.StringIO()
    console = Console(file=out, width=200)
    assert audit_taint(world.store, "repository", TOOLZ.id, console) == 1
    assert "live champions/current" in out.getvalue() and "1 of 3 examples" in out.getvalue()
    out.truncate(0)
    out.seek(0)
    assert audit_taint(world.store, "task", task(4, BOLTONS).id, console, as_json=True) == 0
    assert json.loads(out.getvalue())["kind"] == "task"
