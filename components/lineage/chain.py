"""The datasets behind a dataset: manifests followed backwards, every byte of them read again."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from components.lineage.report import Problem
from components.records.errors import CorruptionError, InputError
from components.store import Dataset, Store
from components.store.manifest import OutputFile, load_manifest

CHAMPION = "champion"
CHAMPION_POINTER = "champions/current"
POINTERS = ("champions", "iterations")
STEERING = "mix"
"""Table of an analysis. It says how many tasks of which kind to make and gives no row to any of them, so the
chain ends there: else it would hold every iteration that ever was. An analysis has an audit of its own.
"""


@dataclass
class Chain:
    """Datasets in order of their distance from the one asked for."""

    root: str
    datasets: dict[str, Dataset] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    corrupt: set[tuple[str, str]] = field(default_factory=set)
    """(dataset digest, path) of files that are not what their digest says."""

    def nearest(self, digest: str, table: str) -> Dataset | None:
        """The dataset with a table that is closest behind a dataset."""
        seen, level = {digest}, [digest]
        while level:
            following: list[str] = []
            for child in level:
                for parent in sorted(self.datasets[child].manifest.inputs.values()):
                    if parent in seen or parent not in self.datasets:
                        continue
                    seen.add(parent)
                    following.append(parent)
            for parent in following:
                if table in self.datasets[parent].manifest.rows:
                    return self.datasets[parent]
            level = following
        return None

    def ends_at(self, digest: str) -> bool:
        """True for a dataset whose own inputs are not followed."""
        return digest != self.root and STEERING in self.datasets[digest].manifest.rows

    def readable(self, dataset: Dataset, table: str) -> bool:
        """True when the dataset has the table and its files are whole."""
        return table in dataset.manifest.rows and not any(
            digest == dataset.digest and path.startswith(f"tables/{table}-") for digest, path in self.corrupt
        )


def ids(dataset: Dataset, table: str, column: str) -> list[str]:
    """One column of ids."""
    return [str(value) for value in dataset.columns(table, [column])[column].to_pylist()]


def resolve(store: Store, ref: str) -> Dataset:
    """The dataset that a reference stands for.

    `champion`; the name of a pointer; the digest of a dataset or of a checkpoint, or the start of one.

    Raises:
        InputError: There is no such thing, or more than one.
    """
    if ref == CHAMPION:
        digest = store.pointer(CHAMPION_POINTER)
        if digest is None:
            raise InputError(f"{store.objects.url}: there is no champion yet; run an iteration first")
        return _at(store, CHAMPION_POINTER, digest)
    if not ref or set(ref) - set("0123456789abcdef"):
        digest = store.pointer(ref) if ref.replace("/", "").replace("_", "").isalnum() else None
        if digest is None:
            raise InputError(f"{ref!r} is neither an alias, a pointer nor the start of a digest")
        return _at(store, ref, digest)
    if store.objects.children("datasets", ref):
        return store.get(ref)
    found = {
        manifest.digest: digest
        for manifest in store.all()
        if "checkpoint" in manifest.rows
        for digest in ids(store.get(manifest.digest), "checkpoint", "digest")
        if digest.startswith(ref)
    }
    if len(set(found.values())) != 1:
        what = f"{len(found)} checkpoints have" if found else "neither a dataset nor a checkpoint has"
        raise InputError(f"{store.objects.url}: {what} a digest beginning with {ref!r}")
    return store.get(min(found))


def _at(store: Store, pointer: str, digest: str) -> Dataset:
    """What a pointer points at. Pointers are only ever set to datasets that are there."""
    if not store.objects.children("datasets", digest):
        where = store.objects.locate(f"pointers/{pointer}")
        raise CorruptionError(where, "of a dataset that is there", digest)
    return store.get(digest)


def aliases(store: Store) -> dict[str, list[str]]:
    """Dataset digest to the pointers at it."""
    out: dict[str, list[str]] = {}
    for folder in POINTERS:
        for name, digest in store.pointers(folder).items():
            out.setdefault(digest, []).append(f"{folder}/{name}")
    return out


def follow(store: Store, start: Dataset) -> Chain:
    """Every dataset behind `start`, breadth first. What cannot be read becomes a problem."""
    chain = Chain(start.digest, {start.digest: start})
    queue = [start]
    while queue:
        child = queue.pop(0)
        if chain.ends_at(child.digest):
            continue
        for name, digest in sorted(child.manifest.inputs.items()):
            if digest in chain.datasets:
                continue
            try:
                parent = store.get(digest)
            except CorruptionError as error:
                chain.problems.append(Problem(kind="corrupt", where=error.path, detail=str(error)))
                continue
            except InputError:
                where = store.objects.locate(f"datasets/{digest}/manifest.json")
                detail = (
                    f"{where}: missing; it is input {name!r} of {child.manifest.stage} {child.digest[:12]}"
                )
                chain.problems.append(Problem(kind="corrupt", where=where, detail=detail))
                continue
            chain.datasets[digest] = parent
            queue.append(parent)
    return chain


def verify(store: Store, chain: Chain) -> tuple[int, int]:
    """Read every file of every dataset again, in parallel, the largest first; files and bytes read."""
    work = [(dataset, file) for dataset in chain.datasets.values() for file in dataset.manifest.files]
    work.sort(key=lambda item: -item[1].bytes)

    def check(item: tuple[Dataset, OutputFile]) -> CorruptionError | None:
        dataset, file = item
        try:
            dataset.reread(file.path)
        except CorruptionError as error:
            return error
        return None

    # hashlib lets go of the interpreter lock, so threads use every core.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for (dataset, file), error in zip(work, pool.map(check, work), strict=True):
            if error is not None:
                chain.corrupt.add((dataset.digest, file.path))
                chain.problems.append(Problem(kind="corrupt", where=error.path, detail=str(error)))
    for dataset in chain.datasets.values():
        _check_run(store, dataset, chain)
        for where in dataset.unexpected():
            detail = f"{where}: not in the manifest of {dataset.manifest.stage} {dataset.digest[:12]}"
            chain.problems.append(Problem(kind="corrupt", where=where, detail=detail))
    return len(work), sum(file.bytes for _, file in work)


def _check_run(store: Store, dataset: Dataset, chain: Chain) -> None:
    """The stage cache must say the same as the dataset; an entry that was taken out is no problem."""
    name = f"manifests/{dataset.manifest.key}.json"
    data = store.objects.read(name)
    if data is None:
        return
    where = store.objects.locate(name)
    try:
        found = load_manifest(data, where)
        if found.digest != dataset.digest:
            raise CorruptionError(where, dataset.digest, found.digest)
    except CorruptionError as error:
        chain.problems.append(Problem(kind="corrupt", where=where, detail=str(error)))
