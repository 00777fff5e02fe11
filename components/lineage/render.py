"""An audit as a tree on the terminal."""

import re

from rich.console import Console
from rich.markup import escape
from rich.tree import Tree

from components.lineage.report import AuditReport, Node, TaintReport

SHORT = 12
_HEX = re.compile(r"[0-9a-f]{64}")


def render(report: AuditReport, console: Console) -> None:
    """Print the chain, what was checked, and what is wrong."""
    mark = "[green]verified[/]" if report.ok else "[bold red]NOT VERIFIED[/]"
    what = "dataset"
    if report.checkpoint:
        what = f"checkpoint [bold]{report.checkpoint.digest[:SHORT]}[/]"
    tree = Tree(f"[bold]{escape(report.ref)}[/]: {what} in dataset {report.dataset[:SHORT]}  {mark}")
    if report.aliases:
        tree.add(f"aliases: {escape(', '.join(report.aliases))}")
    _weights(report, tree)
    nodes = {node.digest: node for node in report.nodes}
    _add(report.dataset, "", nodes, tree, set(), report)
    _sources(report, tree)
    checked = tree.add(
        f"checked {report.files} files, {_size(report.bytes)}, {len(report.nodes)} manifests in "
        f"{report.seconds:.2f} s"
    )
    for link in report.links:
        state = "[green]ok[/]" if not link.missing else f"[red]{link.missing} missing[/]"
        checked.add(f"{escape(link.child)} → {escape(link.parent)}: {link.rows} rows {state}")
    console.print(tree)
    for problem in report.problems:
        console.print(f"[bold red]{problem.kind}[/] {escape(problem.detail)}", soft_wrap=True)


def _weights(report: AuditReport, tree: Tree) -> None:
    row = report.checkpoint
    if row is None:
        return
    trained = f"{row.examples} examples, {row.steps} steps, {row.tokens} tokens, loss {row.final_loss:.3f}"
    base = row.base_model[:SHORT] if _HEX.fullmatch(row.base_model) else escape(row.base_model)
    branch = tree.add(f"weights: {escape(row.recipe)} from {base}; {trained}")
    for file in row.files:
        branch.add(f"{escape(file.path)} {_size(file.bytes)} sha256 {file.sha256[:SHORT]}")


def _add(
    digest: str, name: str, nodes: dict[str, Node], tree: Tree, seen: set[str], report: AuditReport
) -> None:
    """A dataset, and below it what it was made from; a dataset already shown is only named."""
    label = f"{escape(name)}: " if name else ""
    node = nodes.get(digest)
    if node is None:
        tree.add(f"{label}[red]{digest[:SHORT]} cannot be read[/]")
        return
    if digest in seen:
        tree.add(f"[dim]{label}{node.stage} {digest[:SHORT]}, see above[/]")
        return
    seen.add(digest)
    rows = ", ".join(f"{count} {table}" for table, count in node.rows.items())
    branch = tree.add(f"{label}[bold cyan]{node.stage}[/] {digest[:SHORT]}: {rows}")
    code = f"code {node.code_commit[:SHORT] or 'not in git'}{' (dirty)' if node.dirty else ''}"
    seconds = (node.ended - node.started).total_seconds()
    branch.add(
        f"[dim]run {node.key[:SHORT]}, {node.started:%Y-%m-%d %H:%M:%S} UTC, {seconds:.1f} s, {code}[/]"
    )
    if isinstance(node.config, dict) and node.config:
        told = ", ".join(
            f"{key}={value}" for key, value in node.config.items() if not isinstance(value, dict)
        )
        branch.add(f"[dim]config {escape(told[:200])}{'…' if len(told) > 200 else ''}[/]")
    if node.rejected:
        branch.add("rejected: " + escape(", ".join(f"{count} {why}" for why, count in node.rejected.items())))
    if not node.followed:
        branch.add("[dim]steered the mix of tasks and gave no row to it: not followed further[/]")
        return
    if not node.deterministic:
        branch.add(f"[yellow]not deterministic: {escape(node.why)}[/]")
    if "verdicts" in node.rows:
        _verdicts(report, node, branch)
    for input_name in sorted(node.inputs, key=lambda key: _depth(node.inputs[key], nodes), reverse=True):
        _add(node.inputs[input_name], input_name, nodes, branch, seen, report)


def _depth(digest: str, nodes: dict[str, Node]) -> int:
    """Length of the longest chain behind a dataset: the longest is shown first, so the others are short."""
    node = nodes.get(digest)
    return 1 + max((_depth(parent, nodes) for parent in node.inputs.values()), default=0) if node else 0


def _verdicts(report: AuditReport, node: Node, branch: Tree) -> None:
    passed = sum(row.outcome == "pass" for row in report.verdicts)
    gates = branch.add(f"gates: {passed} of {len(report.verdicts)} passed")
    for row in report.verdicts:
        if row.outcome != "pass":
            waiver = f", waived: {escape(row.waiver)}" if row.waiver else ""
            count = len(row.offending) or row.checked
            gates.add(
                f"{escape(row.gate)} {row.outcome} ({row.severity}{waiver}): {count} of {row.checked} rows"
            )
    if node.data_docs:
        gates.add(f"Data Docs: {escape(node.data_docs)}")
    if report.teachers:
        told = ", ".join(f"{escape(name[:SHORT])} {count}" for name, count in report.teachers.items())
        gates.add(f"teachers of the accepted trajectories: {told}")


def _sources(report: AuditReport, tree: Tree) -> None:
    if not report.sources:
        return
    branch = tree.add("repositories")
    for use in report.sources:
        row = use.repository
        never = ", never trained on" if row.never_train else ""
        used = f"{use.examples} examples of {use.tasks} tasks{never}"
        leaf = branch.add(f"[bold]{escape(row.id)}[/] {escape(row.licence.spdx)}: {used}")
        evidence = f"{escape(row.licence.evidence)} sha256 {row.licence.evidence_sha256[:SHORT]}"
        source = f"{row.source.kind} {escape(row.source.location)} {row.source.pin[:SHORT]}"
        leaf.add(f"[dim]{source}, licence read from {evidence}[/]")


def render_taint(report: TaintReport, console: Console) -> None:
    """Print what an item has touched."""
    tree = Tree(f"{report.kind} [bold]{escape(report.ref)}[/]: {escape(', '.join(report.items))}")
    data = tree.add(f"{len(report.touched)} datasets")
    for row in report.touched:
        counts = ", ".join(f"{count} of {row.of[table]} {table}" for table, count in row.rows.items())
        data.add(f"[cyan]{row.stage}[/] {row.digest[:SHORT]}: {counts}")
    models = tree.add(f"{len(report.checkpoints)} checkpoints")
    for made in report.checkpoints:
        share = f"{made.examples} of {made.of} examples" if made.of else "no example"
        through = f", through checkpoint {made.through[:SHORT]}" if made.through else ""
        names = f"  [bold red]{escape(', '.join(made.aliases))}[/]" if made.aliases else ""
        models.add(f"[bold]{made.checkpoint[:SHORT]}[/] in {made.dataset[:SHORT]}: {share}{through}{names}")
    console.print(tree)
    if report.live:
        console.print(
            f"[bold red]live[/] {escape(', '.join(report.live))} has learnt from it", soft_wrap=True
        )


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"
