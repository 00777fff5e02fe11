"""The end of a run, in the terminal."""

from rich.console import Console
from rich.table import Table

from components.records.evaluation import Score
from components.report.summary import Summary

_ORDER = (
    "repositories", "synthesis", "validation", "distill", "gates", "curate", "base_model", "train",
    "evaluate_base", "evaluate_trained", "analyse", "evaluate_incumbent", "compare_incumbent",
)  # fmt: skip


def print_summary(summary: Summary, console: Console) -> None:
    """Two tables: what each stage made, and how the models did."""
    stages = Table(title=f"Iteration {summary.record.number}", title_justify="left")
    for name in ("stage", "rows", "rejected", "seconds", "dataset"):
        stages.add_column(name, justify="right" if name == "seconds" else "left", overflow="fold")
    for line in sorted(summary.stages, key=lambda line: _ORDER.index(line.step)):
        stages.add_row(
            line.step,
            counts(line.rows),
            counts(line.rejected),
            "cached" if line.cached else f"{line.seconds:.0f}",
            line.digest[:12],
        )
    console.print(stages)
    models = Table(title="Held-out tasks resolved, 95 % intervals", title_justify="left")
    for name in ("tasks", "tests", "n", "base", "trained", "difference"):
        models.add_column(name)
    base = {(score.suite, score.setting): score for score in summary.base}
    differences = {(c.suite, c.setting): c for c in summary.comparisons}
    for score in summary.trained:
        key = (score.suite, score.setting)
        paired = differences.get(key)
        models.add_row(
            score.suite,
            score.setting,
            str(score.tasks),
            rate(base[key]) if key in base else "",
            rate(score),
            f"{paired.difference:+.1%} [{paired.low:+.1%}, {paired.high:+.1%}]" if paired else "",
        )
    console.print(models)
    verb = "is" if summary.record.promoted else "is not"
    console.print(
        f"checkpoint {summary.checkpoint.digest[:12]} {verb} champion: {summary.record.reason}",
        highlight=False,
    )


def counts(values: dict[str, int]) -> str:
    """`tasks 420, rejected 12`: largest first."""
    ranked = sorted(values.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {count}" for name, count in ranked)


def rate(score: Score) -> str:
    """`41.1 % [29, 54]`."""
    return f"{score.resolved_rate:.1%} [{score.low:.0%}, {score.high:.0%}]"
