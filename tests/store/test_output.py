"""The write side: shards, folders, counts."""

import functools
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from components.records.base import Record
from components.records.errors import InfrastructureError, InputError
from components.store import Output, Workspace, progress, reject
from components.store.fanout import ItemFailed, fan_out
from components.store.output import Rows
from tests.store.stages import (
    Number,
    bad_input_on_seven,
    dies_always,
    dies_once,
    fails_on_seven,
    fails_twice,
)

NUMBERS = {"numbers": Number}


@pytest.fixture
def out(workspace: Workspace) -> Output:
    return Output(workspace, "key")


def values(out: Output) -> list[int]:
    return [row.value for row in out.rows("numbers", Number)]


def test_writes_follow_each_other(out: Output) -> None:
    out.write("numbers", [Number(value=1, square=1)], Number)
    out.batch_shards(NUMBERS, [2, 3, 4], batch, key=str, shard_size=2)
    out.write("numbers", (Number(value=n, square=0) for n in (9,)), Number)
    assert values(out) == [1, 2, 3, 4, 9]
    assert out.finish()[2] == {"numbers": 4 + 1}


def batch(items: Sequence[int]) -> Rows:
    return {"numbers": [Number(value=item, square=item) for item in items]}


def test_empty_table_is_published(out: Output) -> None:
    out.shards(NUMBERS, [], fails_on_seven, key=str)
    _, files, rows, _ = out.finish()
    assert rows == {"numbers": 0}
    assert [file.path for file in files] == ["tables/numbers-00000.parquet"]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_defect_names_the_item(out: Output, workers: int) -> None:
    with pytest.raises(ItemFailed, match=r"^7: ZeroDivisionError: seven$"):
        out.shards(NUMBERS, range(10), fails_on_seven, key=str, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_bad_input_keeps_its_type_and_names_the_item(out: Output, workers: int) -> None:
    with pytest.raises(InputError, match=r"^7: row 3 is bad$"):
        out.shards(NUMBERS, range(10), bad_input_on_seven, key=str, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_machine_is_tried_again(out: Output, tmp_path: Path, workers: int) -> None:
    out.shards(NUMBERS, range(4), functools.partial(fails_twice, tmp_path), key=str, workers=workers)
    assert values(out) == [0, 1, 2, 3]
    assert out.finish()[3].rejected == {"seen": 4}, "failed tries do not count"


def test_a_machine_that_goes_on_failing_stops_the_stage(out: Output) -> None:
    def down(items: Sequence[int]) -> Rows:
        raise InfrastructureError("down")

    with pytest.raises(InfrastructureError, match="0 to 1: down"):
        out.batch_shards(NUMBERS, [0, 1], down, key=str)


def test_a_dead_worker_is_replaced(out: Output, tmp_path: Path) -> None:
    out.shards(NUMBERS, range(6), functools.partial(dies_once, tmp_path), key=str, workers=2)
    assert values(out) == [0, 1, 2, 3, 4, 5]


def test_an_item_that_kills_its_workers_stops_the_stage(out: Output) -> None:
    with pytest.raises(InfrastructureError, match="3: its worker process died 3 times"):
        out.shards(NUMBERS, range(6), dies_always, key=str, workers=2)


def test_two_items_never_share_a_key(out: Output) -> None:
    with pytest.raises(ValueError, match="items with the same key: 1"):
        out.shards(NUMBERS, [1, 2, 1], fails_on_seven, key=str)


def test_rows_of_undeclared_tables_are_refused(out: Output) -> None:
    with pytest.raises(ItemFailed, match="not declared: other"):
        out.batch_shards(NUMBERS, [1], lambda items: {"other": []}, key=str)


def test_one_table_holds_one_record(out: Output) -> None:
    class Other(Record):
        value: int

    out.write("numbers", [], Number)
    with pytest.raises(TypeError, match="holds Number, not Other"):
        out.write("numbers", [], Other)


def test_work_that_holds_the_output_is_refused(out: Output) -> None:
    with pytest.raises(TypeError, match=r"store\.reject"):
        out.shards(NUMBERS, [1], functools.partial(uses_output, out), key=str, workers=1)


def uses_output(out: Output, item: int) -> Rows:
    return {}


def test_the_bar_moves_within_a_batch_and_a_second_try_counts_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    out = Output(workspace, "key")
    tries: list[int] = []

    def work(items: Sequence[int]) -> Rows:
        tries.append(len(items))
        out.tick()
        if len(tries) == 1:
            raise InfrastructureError("the machine is down")
        out.tick()
        return batch(items)

    out.batch_shards(NUMBERS, [2, 3, 4, 5, 6], work, key=str, shard_size=3, desc="numbers")
    counts = [line.split(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert tries == [3, 3, 2]
    assert counts == [f"numbers: {done}/5" for done in (1, 2, 3, 4, 5, 5)]


def test_counts_of_threads_in_a_batch_go_to_its_shard(workspace: Workspace) -> None:
    calls: list[int] = []

    def run(out: Output) -> dict[str, int]:
        def threaded(items: Sequence[int]) -> Rows:
            calls.extend(items)
            thread = threading.Thread(target=out.reject, args=("slow",))
            thread.start()
            thread.join()
            reject("seen", len(items))
            return {}

        out.batch_shards(NUMBERS, range(4), threaded, key=str, shard_size=2)
        return dict(out.finish()[3].rejected)

    first, again = run(Output(workspace, "key")), run(Output(workspace, "key"))
    assert first == again == {"slow": 2, "seen": 4}
    assert calls == [0, 1, 2, 3], "finished shards are not done again"


def test_counting_outside_of_work_is_told(out: Output) -> None:
    with pytest.raises(RuntimeError, match=r"use Output\.reject"):
        reject("x")
    out.reject("x")
    out.reject("x", 2)
    assert out.finish()[3].rejected == {"x": 3}


def test_damaged_shard_is_done_again(workspace: Workspace) -> None:
    done: list[int] = []

    def work(items: Sequence[int]) -> Rows:
        done.extend(items)
        return batch(items)

    Output(workspace, "key").batch_shards(NUMBERS, range(4), work, key=str, shard_size=2)
    table = next((workspace.work / "key").rglob("00001/numbers.parquet"))
    table.write_bytes(table.read_bytes()[:-1])
    out = Output(workspace, "key")
    out.batch_shards(NUMBERS, range(4), work, key=str, shard_size=2)
    assert done == [0, 1, 2, 3, 2, 3]
    assert values(out) == [0, 1, 2, 3]


def test_other_items_are_not_taken_for_done(workspace: Workspace) -> None:
    Output(workspace, "key").batch_shards(NUMBERS, [1, 2], batch, key=str)
    out = Output(workspace, "key")
    out.batch_shards(NUMBERS, [1, 3], batch, key=str)
    assert values(out) == [1, 3]


def test_folder_is_new_and_scratch_is_kept(workspace: Workspace) -> None:
    first = Output(workspace, "key")
    (first.folder("model") / "stale").touch()
    (first.scratch("checkpoints") / "step-10").touch()
    again = Output(workspace, "key")
    assert list(again.folder("model").iterdir()) == []
    assert again.folder("model") == again.folder("model")
    assert [path.name for path in again.scratch("checkpoints").iterdir()] == ["step-10"]
    assert [file.path for file in again.finish()[1]] == []


def test_outcomes_come_with_their_index() -> None:
    outcomes = sorted((index, done.value) for index, done in fan_out(abs, [-1, -2, 3], workers=2, name=str))
    assert outcomes == [(0, 1), (1, 2), (2, 3)]
