"""Bytes of Parquet files depend on rows alone."""

import hashlib
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from components.store.parquet import ROWS_PER_FILE, ROWS_PER_GROUP, read_table, write_dataset

COLUMNS: dict[str, pa.DataType] = {"n": pa.int64(), "text": pa.string(), "list": pa.list_(pa.string())}
SCHEMA = pa.schema(COLUMNS)


def table(rows: int, start: int = 0) -> pa.Table:
    numbers = range(start, start + rows)
    return pa.Table.from_pylist(
        [{"n": n, "text": "x" * (n % 7) if n % 3 else None, "list": [str(n)] * (n % 4)} for n in numbers],
        schema=SCHEMA,
    )


def digests(tables: list[pa.Table]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        written = write_dataset("t", tables, SCHEMA, Path(folder))
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path, _ in written]


WHOLE = table(3000)
REFERENCE = digests([WHOLE])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3000), max_size=8))
def test_cuts_leave_no_trace(cuts: list[int]) -> None:
    ends = [*sorted(cuts), 3000]
    pieces = [WHOLE.slice(start, end - start) for start, end in zip([0, *ends], ends, strict=False)]
    assert digests(pieces) == REFERENCE
    rebuilt = [table(piece.num_rows, int(piece["n"][0].as_py())) for piece in pieces if piece.num_rows]
    assert digests(rebuilt) == REFERENCE


def test_long_tables_are_several_files(tmp_path: Path) -> None:
    big = pa.Table.from_pydict({"n": list(range(ROWS_PER_FILE + 5))}, schema=pa.schema([("n", pa.int64())]))
    written = write_dataset("t", [big], big.schema, tmp_path)
    assert [(path.name, rows) for path, rows in written] == [
        ("t-00000.parquet", ROWS_PER_FILE),
        ("t-00001.parquet", 5),
    ]
    assert pa.concat_tables([read_table(path) for path, _ in written]) == big
    assert pq.ParquetFile(written[0][0]).metadata.row_group(0).num_rows == ROWS_PER_GROUP


def test_file_says_nothing_of_when_or_pandas(tmp_path: Path) -> None:
    [(path, _)] = write_dataset("t", [WHOLE], SCHEMA, tmp_path)
    metadata = pq.ParquetFile(path).metadata
    assert set(metadata.metadata or {}) <= {b"ARROW:schema"}
    assert metadata.row_group(0).column(0).compression == "ZSTD"
