"""One self-contained HTML page per iteration."""

import os
import tempfile
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from components.report.figures import figures
from components.report.summary import Summary
from components.report.terminal import counts, rate


def write_page(summary: Summary, folder: Path, *, prefect_url: str = "", mlflow_uri: str = "") -> Path:
    """Write `iteration-0001.html` into a folder, at once or not at all; returns its path."""
    environment = Environment(
        loader=PackageLoader("components.report"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["counts"] = counts
    environment.filters["rate"] = rate
    drawn = {
        title: figure.to_html(full_html=False, include_plotlyjs="inline" if index == 0 else False)
        for index, (title, figure) in enumerate(figures(summary).items())
    }
    text = environment.get_template("iteration.html").render(
        summary=summary, figures=drawn, prefect_url=prefect_url, mlflow_uri=mlflow_uri
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"iteration-{summary.record.number:04d}.html"
    handle, partial = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(partial).replace(path)
    path.chmod(0o644)
    return path
