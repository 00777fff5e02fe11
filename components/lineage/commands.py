"""What the command line calls: print, and return the exit code."""

from typing import Literal

from rich.console import Console

from components.lineage.audit import audit_checkpoint
from components.lineage.render import render, render_taint
from components.lineage.taint import taint
from components.store import Store


def audit(store: Store, ref: str, console: Console, *, as_json: bool = False) -> int:
    """`flywheel audit checkpoint REF`: not 0 when a byte or a link is not as it must be."""
    report = audit_checkpoint(store, ref)
    if as_json:
        _print_json(report.model_dump_json(indent=2), console)
    else:
        render(report, console)
    return report.exit_code


def audit_taint(
    store: Store,
    kind: Literal["repository", "task", "trajectory"],
    ref: str,
    console: Console,
    *,
    as_json: bool = False,
) -> int:
    """`flywheel audit taint --repository|--task|--trajectory REF`: not 0 when a live champion is tainted."""
    report = taint(store, kind, ref)
    if as_json:
        _print_json(report.model_dump_json(indent=2), console)
    else:
        render_taint(report, console)
    return report.exit_code


def _print_json(text: str, console: Console) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
