"""The report's figures (plotly)."""

from collections import Counter
from typing import Any

import plotly.graph_objects as go

from components.report.summary import Summary

_COLOURS = {"base": "#9aa5b1", "trained": "#2563eb"}


def figures(summary: Summary) -> dict[str, Any]:
    """Title -> figure, in the order in which a page shows them."""
    return {
        "Held-out tasks resolved": resolved(summary),
        "Funnel": funnel(summary),
        "Candidates refused by validation": rejections(summary, "validation"),
        "Why rollouts of the trained model failed": failures(summary),
        "Training loss": loss(summary),
        "Where the time went": cost(summary),
    }


def resolved(summary: Summary) -> Any:
    """Bars of base and trained with Wilson intervals."""
    figure = go.Figure()
    for name, scores in (("base", summary.base), ("trained", summary.trained)):
        figure.add_bar(
            name=name,
            marker_color=_COLOURS[name],
            x=[f"{s.suite}, {s.setting} tests (n={s.tasks})" for s in scores],
            y=[s.resolved_rate for s in scores],
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [s.high - s.resolved_rate for s in scores],
                "arrayminus": [s.resolved_rate - s.low for s in scores],
            },
        )
    figure.update_yaxes(tickformat=".0%", range=[0, 1])
    return _plain(figure)


def funnel(summary: Summary) -> Any:
    """From candidates to examples."""
    wanted = (
        ("synthesis", "candidates"),
        ("validation", "tasks"),
        ("distill", "trajectories"),
        ("gates", "accepted"),
        ("curate", "examples"),
    )
    rows = {line.step: line.rows for line in summary.stages}
    found = [(table, rows[step][table]) for step, table in wanted if table in rows.get(step, {})]
    figure = go.Figure(go.Funnel(y=[name for name, _ in found], x=[count for _, count in found]))
    return _plain(figure)


def rejections(summary: Summary, step: str) -> Any:
    """Reasons of one stage."""
    rejected = next((line.rejected for line in summary.stages if line.step == step), {})
    return _bars(Counter(rejected))


def failures(summary: Summary) -> Any:
    """Failure classes."""
    return _bars(Counter(str(found.failure) for found in summary.diagnoses))


def loss(summary: Summary) -> Any:
    """Loss by tokens seen."""
    figure = go.Figure(
        go.Scatter(
            x=[p.tokens for p in summary.curve], y=[p.loss for p in summary.curve], mode="lines+markers"
        )
    )
    figure.update_xaxes(title="tokens")
    figure.update_yaxes(type="log")
    return _plain(figure)


def cost(summary: Summary) -> Any:
    """Seconds by stage."""
    return _bars(Counter({line.step: round(line.seconds) for line in summary.stages}))


def _bars(counts: Counter[str]) -> Any:
    ranked = counts.most_common()[::-1]
    return _plain(
        go.Figure(go.Bar(orientation="h", y=[name for name, _ in ranked], x=[count for _, count in ranked]))
    )


def _plain(figure: Any) -> Any:
    figure.update_layout(template="plotly_white", margin={"l": 10, "r": 10, "t": 10, "b": 10}, height=340)
    return figure
