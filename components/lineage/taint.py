"""Forward: what a repository, a task or a trajectory has touched, down to the aliases that are live.

One pass over all runs, parents before children. Ids are the same in every dataset, so the sets of tainted
ids grow along the way and each table is asked only for columns of ids.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from components.lineage.chain import aliases, ids
from components.lineage.report import TaintedCheckpoint, TaintReport, Touched
from components.records.errors import InputError
from components.store import Dataset, Store

Kind = Literal["repository", "task", "trajectory"]

# Table -> the column that holds its own id, and the columns that name parents, each by kind.
OWN = {
    "repositories": ("repository", "id"),
    "candidates": ("candidate", "id"),
    "tasks": ("task", "id"),
    "trajectories": ("trajectory", "id"),
}
PARENTS = {
    "repositories": {"repository": "id"},
    "environments": {"repository": "repository_id"},
    "candidates": {"repository": "repository_id"},
    "tasks": {"task": "id", "candidate": "parents", "repository": "repository_id"},
    "trajectories": {"trajectory": "id", "task": "task_id", "repository": "repository_id"},
    "accepted": {"trajectory": "id", "task": "task_id", "repository": "repository_id"},
    "quarantine": {"trajectory": "row_id", "task": "parent_id"},
    "examples": {"trajectory": "trajectory_id", "task": "task_id", "repository": "repository_id"},
}


@dataclass
class _State:
    ids: dict[str, set[str]]
    examples: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Dataset of examples -> tainted rows, all rows."""
    models: dict[str, str] = field(default_factory=dict)
    """Dataset with a tainted checkpoint -> the checkpoint's digest."""
    touched: list[Touched] = field(default_factory=list)
    checkpoints: list[TaintedCheckpoint] = field(default_factory=list)


def taint(store: Store, kind: Kind, ref: str) -> TaintReport:
    """Everything that comes from an item.

    Args:
        store: Where the datasets are.
        kind: What the reference is to.
        ref: An id; for a repository also its name, which stands for all versions.

    Raises:
        InputError: No dataset knows the item.
    """
    clock = time.perf_counter()
    manifests = {manifest.digest: manifest for manifest in reversed(store.all())}
    datasets = {digest: store.get(digest) for digest in manifests}
    items = _items(datasets.values(), kind, ref)
    if not items:
        raise InputError(f"{store.objects.url}: no dataset knows the {kind} {ref!r}")
    state = _State({name: set() for name in ("repository", "candidate", "task", "trajectory")})
    state.ids[kind] = set(items)
    names = aliases(store)
    for digest in _parents_first(datasets):
        _visit(datasets[digest], state, names.get(digest, []))
    return TaintReport(
        kind=kind,
        ref=ref,
        items=tuple(sorted(items)),
        touched=tuple(state.touched),
        checkpoints=tuple(state.checkpoints),
        seconds=time.perf_counter() - clock,
    )


def _items(datasets: Iterable[Dataset], kind: Kind, ref: str) -> set[str]:
    table = {"repository": "repositories", "task": "tasks", "trajectory": "trajectories"}[kind]
    known: set[str] = set()
    for dataset in datasets:
        if table in dataset.manifest.rows:
            known.update(ids(dataset, table, "id"))
    if ref in known:
        return {ref}
    return {row for row in known if kind == "repository" and row.rpartition("@")[0] == ref}


def _parents_first(datasets: Mapping[str, Dataset]) -> list[str]:
    out: dict[str, None] = {}

    def visit(digest: str) -> None:
        if digest in out or digest not in datasets:
            return
        for parent in sorted(datasets[digest].manifest.inputs.values()):
            visit(parent)
        out[digest] = None

    for digest in sorted(datasets, key=lambda digest: (datasets[digest].manifest.started, digest)):
        visit(digest)
    return list(out)


def _visit(dataset: Dataset, state: _State, names: list[str]) -> None:
    inputs = sorted(dataset.manifest.inputs.values())
    through = next((state.models[parent] for parent in inputs if parent in state.models), "")
    rows: dict[str, int] = {}
    for table in dataset.manifest.rows:
        if table in PARENTS:
            # What a tainted model did is tainted, whatever the task.
            everything = bool(through) and table == "trajectories"
            rows[table] = _count(dataset, table, state, everything)
    rows = {table: count for table, count in rows.items() if count}
    if rows:
        of = {table: dataset.manifest.rows[table] for table in rows}
        state.touched.append(Touched(stage=dataset.manifest.stage, digest=dataset.digest, rows=rows, of=of))
    if "examples" in rows:
        state.examples[dataset.digest] = rows["examples"], dataset.manifest.rows["examples"]
    learnt = [parent for parent in inputs if parent in state.examples]
    if "checkpoint" in dataset.manifest.rows and (learnt or through):
        (digest,) = ids(dataset, "checkpoint", "digest")
        state.models[dataset.digest] = digest
        state.checkpoints.append(
            TaintedCheckpoint(
                dataset=dataset.digest,
                checkpoint=digest,
                examples=sum(state.examples[parent][0] for parent in learnt),
                of=sum(state.examples[parent][1] for parent in learnt),
                through=through,
                aliases=tuple(names),
            )
        )


def _count(dataset: Dataset, table: str, state: _State, everything: bool) -> int:
    """Tainted rows of a table; their ids become tainted too."""
    parents = PARENTS[table]
    own_kind, own_column = OWN.get(table, ("", ""))
    wanted = sorted({*parents.values(), *([own_column] if own_column else [])})
    count = 0
    for row in dataset.columns(table, wanted).to_pylist():
        if everything or any(_hit(row[column], state.ids[kind]) for kind, column in parents.items()):
            count += 1
            if own_kind:
                state.ids[own_kind].add(row[own_column])
    return count


def _hit(value: Any, ids: set[str]) -> bool:
    if isinstance(value, list):
        return any(item in ids for item in value)
    return value in ids
