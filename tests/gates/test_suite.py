"""Great Expectations keeps its context in a variable of the process: verdicts must not mix."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

from components.gates.suite import Gate, Validator

GATE = Gate("small", "block", "row", "ExpectColumnValuesToBeBetween", {"column": "n", "max_value": 5})


def validate(folder: Path, frame: pd.DataFrame) -> tuple[str, ...]:
    with Validator(folder) as validator:
        (finding,) = validator.run("suite", frame, [GATE])
        return finding.offending


def test_shards_in_parallel_give_the_verdicts_of_shards_in_turn(tmp_path: Path) -> None:
    """great_expectations issues 6346, 8294 and 12209."""
    frames = [
        pd.DataFrame({"id": [f"{shard}-{n}" for n in range(10)], "n": [n + shard for n in range(10)]})
        for shard in range(4)
    ]
    folders = [tmp_path / str(shard) for shard in range(4)]
    with ThreadPoolExecutor(4) as pool:
        parallel = list(pool.map(validate, folders, frames))
    assert parallel == [tuple(f"{shard}-{n}" for n in range(6 - shard, 10)) for shard in range(4)]
    pages = {page.name for page in tmp_path.rglob("index.html")}
    assert pages == {"index.html"}


def test_an_empty_frame_passes_row_level_gates(tmp_path: Path) -> None:
    assert validate(tmp_path, pd.DataFrame({"id": [], "n": []})) == ()
