"""The write side of a stage: a private folder, found again by the stage's key after a crash."""

import functools
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import pyarrow as pa

from components.records.base import Record
from components.records.errors import CorruptionError, InfrastructureError
from components.store.account import Account, current
from components.store.digests import sha256_file
from components.store.fanout import attempt, cores, fan_out, raise_named
from components.store.manifest import EVIDENCE, OutputFile
from components.store.parquet import read_table, write_dataset
from components.store.progress import Progress
from components.store.shards import Marker, Shard, ShardFile, Tables, plan, whole, write_part
from components.store.workspace import Workspace

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Rows = Mapping[str, Sequence[Record]]
Work = Callable[[T], Rows]


class Output:
    """What a stage writes. Several writes to one table follow each other, in the order of the calls."""

    def __init__(self, workspace: Workspace, key: str) -> None:
        self.workspace = workspace
        self.root = workspace.work / key
        self.deterministic, self.why = True, ""
        self._account = Account()
        self._shard: Account | None = None
        """Of the batch at work, for every thread that works on it."""
        self._records: dict[str, type[Record]] = {}
        self._parts: dict[str, list[tuple[Path, ShardFile]]] = {}
        self._folders: set[str] = set()
        self._steps = 0
        self._ticks = 0
        self._batch: tuple[Progress, int] | None = None
        """The bar, and where it stood before the batch at hand."""
        for made_anew in ("publish", "staged"):
            shutil.rmtree(self.root / made_anew, ignore_errors=True)
        self.root.mkdir(parents=True, exist_ok=True)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "Output stays in its process: `work` returns rows, and counts with store.reject and store.cost"
        )

    def write(self, table: str, rows: Iterable[R], record: type[R]) -> None:
        """Write rows at once, from this process."""
        self._declare({table: record})
        path = self._step() / f"{table}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._parts[table].append((path, write_part(record.to_table(rows), path)))

    def rows(self, table: str, record: type[R]) -> list[R]:
        """What has been written to a table so far."""
        return [row for path, _ in self._parts.get(table, []) for row in record.from_table(read_table(path))]

    def shards(
        self,
        tables: Tables,
        items: Sequence[T],
        work: Work[T],
        *,
        key: Callable[[T], str],
        shard_size: int = 32,
        workers: int | None = None,
        desc: str = "",
    ) -> None:
        """Work on items in a pool of processes and write what comes of each, in the order of the items.

        Args:
            tables: The tables that `work` may return rows of.
            items: The items; picklable.
            work: Called with one item in another process, so a top-level function, a method of a picklable
                object or a `functools.partial` of one. May call `components.store.reject` and `.cost`.
            key: Identity of an item; two items never share one.
            shard_size: Items a shard: what a crash may lose. Never changes the result.
            workers: Processes; None for one a core; 1 for this process. Never changes the result.
            desc: What the progress bar says.
        """
        todo, progress = self._begin(tables, items, key, shard_size, desc)
        call = functools.partial(_encode, work, dict(tables))
        pickle.dumps(call)  # said here, not only where there is more than one core
        owner = [shard for shard in todo for _ in range(shard.count)]
        queue = [items[shard.first + offset] for shard in todo for offset in range(shard.count)]
        start = {shard.folder: sum(other.count for other in todo[:n]) for n, shard in enumerate(todo)}
        pending: dict[int, tuple[dict[str, pa.Table], Account, float]] = {}
        left = {shard.folder: shard.count for shard in todo}
        count = cores() if workers is None else workers
        with progress:
            for index, done in fan_out(call, queue, workers=count, name=key):
                pending[index] = (done.value, done.account, done.seconds)
                progress.advance()
                shard = owner[index]
                left[shard.folder] -= 1
                if not left[shard.folder]:
                    begin = start[shard.folder]
                    outcomes = [pending.pop(begin + offset) for offset in range(shard.count)]
                    self._finish(shard, tables, outcomes)
        self._collect(tables)

    def batch_shards(
        self,
        tables: Tables,
        items: Sequence[T],
        work: Callable[[Sequence[T]], Rows],
        *,
        key: Callable[[T], str],
        shard_size: int = 32,
        desc: str = "",
    ) -> None:
        """As `shards`, but `work` gets all items of a shard at once, in this process, e.g. for a model.

        Here the shard size may change the result, if a batch changes what a model computes.
        """
        todo, progress = self._begin(tables, items, key, shard_size, desc)
        call = functools.partial(_encode, functools.partial(self._watched, work), dict(tables))
        with progress:
            for shard in todo:
                batch = items[shard.first : shard.first + shard.count]
                before = progress.done
                self._batch = progress, before
                try:
                    done = attempt(call, batch)
                except Exception as error:  # noqa: BLE001 - it goes on with the names of the items
                    raise_named(error, f"{key(batch[0])} to {key(batch[-1])}")
                self._finish(shard, tables, [(done.value, done.account, done.seconds)])
                progress.reach(before + shard.count)
        self._collect(tables)

    def tick(self) -> None:
        """Move the bar on by one item of the batch that is being worked on."""
        self._ticks += 1
        if self._batch is not None:
            bar, before = self._batch
            bar.reach(before + self._ticks)

    def folder(self, name: str, *, evidence: bool = False) -> Path:
        """An empty folder for files of any form, published as `files/<name>/`.

        With `evidence` it is `evidence/<name>/`: for what differs between two equal runs, e.g. dated reports.
        """
        path = self._publish / (EVIDENCE if evidence else "files") / name
        if name not in self._folders:
            self._folders.add(name)
            path.mkdir(parents=True)
        return path

    def scratch(self, name: str) -> Path:
        """A folder that is not published; a restart finds it as a crash left it, e.g. for checkpoints."""
        path = self.root / "scratch" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def reject(self, reason: str, count: int = 1) -> None:
        """Count items turned away, by reason."""
        (self._shard or self._account).turn_away({str(reason): count})

    def cost(self, **amounts: float) -> None:
        """Add to what the stage cost, e.g. `cost(tokens=120)`. Never part of the dataset's digest."""
        (self._shard or self._account).spend(amounts)

    def nondeterministic(self, why: str) -> None:
        """Say that the same inputs may give another digest, and why."""
        self.deterministic, self.why = False, why

    def finish(self) -> tuple[Path, tuple[OutputFile, ...], dict[str, int], Account]:
        """Put the dataset together: its folder, its files, rows by table, and the account of all shards."""
        (self._publish / "tables").mkdir(parents=True, exist_ok=True)
        counts: dict[Path, int] = {}
        rows = {}
        for table in sorted(self._records):
            schema = self._records[table].arrow_schema()
            place = self._publish / EVIDENCE if self._records[table].is_evidence else self._publish
            (place / "tables").mkdir(parents=True, exist_ok=True)
            written = write_dataset(table, self._read_parts(table), schema, place / "tables")
            counts.update(written)
            rows[table] = sum(count for _, count in written)
            if rows[table] != sum(file.rows for _, file in self._parts[table]):
                raise InfrastructureError(
                    f"{self.root}: rows of {table} were lost between its parts and the dataset"
                )
        files = tuple(
            OutputFile(
                path=path.relative_to(self._publish).as_posix(),
                sha256=sha256_file(path),
                bytes=path.stat().st_size,
                rows=counts.get(path),
            )
            for path in _files(self._publish)
        )
        return self._publish, files, rows, self._account

    def discard(self) -> None:
        """Delete the private folder."""
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def _publish(self) -> Path:
        return self.root / "publish"

    def _read_parts(self, table: str) -> Iterator[pa.Table]:
        for path, file in self._parts[table]:
            if not whole(path, file):
                raise CorruptionError(path, file.sha256, "another file")
            yield read_table(path)

    def _step(self) -> Path:
        self._steps += 1
        return self.root / "steps" / f"{self._steps:03d}"

    def _declare(self, tables: Tables) -> None:
        for table, record in tables.items():
            if self._records.setdefault(table, record) is not record:
                raise TypeError(
                    f"table {table!r} holds {self._records[table].__name__}, not {record.__name__}"
                )
            self._parts.setdefault(table, [])

    def _watched(self, work: Callable[[Sequence[T]], Rows], batch: Sequence[T]) -> Rows:
        self._shard, self._ticks = current(), 0
        try:
            return work(batch)
        finally:
            self._shard = None

    def _begin(
        self, tables: Tables, items: Sequence[T], key: Callable[[T], str], shard_size: int, desc: str
    ) -> tuple[list[Shard], Progress]:
        self._declare(tables)
        self._shards = plan(self._step(), items, key, shard_size)
        self._markers: dict[Path, Marker] = {}
        for shard in self._shards:
            if marker := shard.marker(tables):
                self._markers[shard.folder] = marker
        todo = [shard for shard in self._shards if shard.folder not in self._markers]
        finished = len(items) - sum(shard.count for shard in todo)
        return todo, Progress(desc or "/".join(tables), len(items), finished)

    def _finish(
        self, shard: Shard, tables: Tables, outcomes: Sequence[tuple[Mapping[str, pa.Table], Account, float]]
    ) -> None:
        total = Account()
        for _, account, _ in outcomes:
            total.add(account)
        merged = {
            name: pa.concat_tables(
                [record.arrow_schema().empty_table(), *(rows[name] for rows, _, _ in outcomes)]
            )
            for name, record in tables.items()
        }
        self._markers[shard.folder] = shard.finish(merged, total, sum(seconds for _, _, seconds in outcomes))

    def _collect(self, tables: Tables) -> None:
        for shard in self._shards:
            marker = self._markers[shard.folder]
            self._account.turn_away(marker.rejected)
            self._account.spend({**marker.cost, "work_seconds": marker.seconds})
            for table in tables:
                self._parts[table].append((shard.folder / f"{table}.parquet", marker.tables[table]))


def _encode(
    work: Callable[[T], Mapping[str, Sequence[Record]]], tables: dict[str, type[Record]], item: T
) -> dict[str, pa.Table]:
    """Call `work` and turn its rows into tables, still in the worker."""
    made = work(item)
    if unknown := made.keys() - tables.keys():
        raise TypeError(f"rows of tables that were not declared: {', '.join(sorted(unknown))}")
    return {table: record.to_table(made.get(table, ())) for table, record in tables.items()}


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())
