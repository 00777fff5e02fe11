"""Parquet whose bytes depend on the rows alone: not on how they were cut into shards, nor on when or by whom.

Fixed compression level, row groups and file lengths; no pandas metadata; columns made contiguous first,
because a chunk border in memory would otherwise become a page border on disk.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP = 1024
ROWS_PER_FILE = 16 * ROWS_PER_GROUP


def write_table(table: pa.Table, path: Path) -> None:
    """Write a small table to one file."""
    with _writer(path, table.schema) as writer:
        for group in _regroup([table], table.schema):
            writer.write_table(group)


def read_table(path: Path) -> pa.Table:
    """Read one file."""
    return pq.ParquetFile(path).read()


def write_dataset(
    name: str, tables: Iterable[pa.Table], schema: pa.Schema, folder: Path
) -> list[tuple[Path, int]]:
    """Stream tables of one schema into `<name>-00000.parquet` and so on; at least one file, even if empty."""
    written: list[tuple[Path, int]] = []
    groups = _regroup(tables, schema)
    group = next(groups, None)
    while group is not None or not written:
        path = folder / f"{name}-{len(written):05d}.parquet"
        rows = 0
        with _writer(path, schema) as writer:
            while group is not None and rows + group.num_rows <= ROWS_PER_FILE:
                writer.write_table(group)
                rows += group.num_rows
                group = next(groups, None)
        written.append((path, rows))
    return written


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(
        path,
        schema,
        version="2.6",
        compression="zstd",
        compression_level=3,
        use_dictionary=True,
        write_statistics=True,
        data_page_version="1.0",
    )


def _regroup(tables: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    pending: list[pa.Table] = []
    rows = 0
    for table in tables:
        pending.append(table.cast(schema))
        rows += table.num_rows
        while rows >= ROWS_PER_GROUP:
            whole = pa.concat_tables(pending)
            yield _contiguous(whole.slice(0, ROWS_PER_GROUP))
            pending, rows = [whole.slice(ROWS_PER_GROUP)], rows - ROWS_PER_GROUP
    if rows:
        yield _contiguous(pa.concat_tables(pending))


def _contiguous(table: pa.Table) -> pa.Table:
    return table.take(pa.array(range(table.num_rows), pa.int64())).combine_chunks()
