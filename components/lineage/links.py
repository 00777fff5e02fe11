"""Row-level links: every row names its parents by id, and every parent exists.

Which dataset a parent lies in is not a matter of names of stages or inputs: it is the nearest one behind
the child that holds the parent's table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from components.lineage.chain import Chain
from components.lineage.report import Link, Problem
from components.store import Dataset

SHOWN = 5
"""Broken rows that a report names."""


@dataclass(frozen=True)
class Rule:
    """Columns of a child table that must be found, together, in columns of a parent table."""

    child: str
    columns: tuple[str, ...]
    parent: str
    keys: tuple[str, ...]


RULES = (
    Rule(
        "examples",
        ("trajectory_id", "task_id", "repository_id"),
        "accepted",
        ("id", "task_id", "repository_id"),
    ),
    Rule("accepted", ("id", "task_id", "repository_id"), "trajectories", ("id", "task_id", "repository_id")),
    Rule("quarantine", ("row_id", "parent_id"), "trajectories", ("id", "task_id")),
    Rule("trajectories", ("task_id", "repository_id"), "tasks", ("id", "repository_id")),
    Rule("tasks", ("parents",), "candidates", ("id",)),
    Rule("tasks", ("repository_id", "environment"), "repositories", ("id", "environment")),
    Rule("candidates", ("repository_id",), "repositories", ("id",)),
    Rule("repositories", ("environment",), "environments", ("digest",)),
)


def check_links(chain: Chain) -> list[Link]:
    """Join every child table on the chain to its parents; broken links become problems of the chain."""
    out = []
    for dataset in chain.datasets.values():
        for rule in RULES:
            if not chain.readable(dataset, rule.child):
                continue
            parent = (
                dataset
                if rule.parent in dataset.manifest.rows
                else chain.nearest(dataset.digest, rule.parent)
            )
            if parent is None:
                where = f"{_where(dataset)}: {rule.child}"
                detail = f"{where}: no dataset behind it has the table {rule.parent!r} that its rows point to"
                chain.problems.append(Problem(kind="broken link", where=where, detail=detail))
            elif chain.readable(parent, rule.parent):
                out.append(_check(chain, rule, dataset, parent))
    return out


def _check(chain: Chain, rule: Rule, child: Dataset, parent: Dataset) -> Link:
    known = set(_rows(parent, rule.parent, rule.keys))
    rows = list(_rows(child, rule.child, rule.columns))
    missing = sorted({" / ".join(row) for row in rows if row not in known})
    link = Link(
        child=_name(rule.child, rule.columns),
        child_digest=child.digest,
        parent=_name(rule.parent, rule.keys),
        parent_digest=parent.digest,
        rows=len(rows),
        missing=sum(row not in known for row in rows),
        examples=tuple(missing[:SHOWN]),
    )
    if link.missing:
        detail = (
            f"{link.missing} of {link.rows} rows of {link.child} in {_where(child)} have no {link.parent} "
            f"in {_where(parent)}, e.g. {missing[0]}"
        )
        chain.problems.append(Problem(kind="broken link", where=link.child, detail=detail))
    return link


def _where(dataset: Dataset) -> str:
    return f"{dataset.manifest.stage} {dataset.digest[:12]}"


def _name(table: str, columns: tuple[str, ...]) -> str:
    return f"{table}.{columns[0]}" if len(columns) == 1 else f"{table}.({', '.join(columns)})"


def _rows(dataset: Dataset, table: str, columns: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Values of some columns, one tuple a row; a list column gives one for every element."""
    read = dataset.columns(table, columns)
    if len(columns) == 1:
        for value in read[columns[0]].to_pylist():
            for item in _flat(value):
                yield (item,)
        return
    for row in zip(*(read[column].to_pylist() for column in columns), strict=True):
        yield tuple(str(value) for value in row)


def _flat(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]
