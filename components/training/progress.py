"""Progress of a training run: a bar with loss, tokens a second and time left; lines where there is no terminal."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

_LINE_EVERY_SECONDS = 30.0


class TrainingBar:
    """Counts tokens; `loss` is shown when set."""

    def __init__(self, tokens: float) -> None:
        self.loss = float("nan")
        self._tokens = tokens
        self._from = 0.0
        self._started = self._spoken = time.monotonic()
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("train"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[note]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("train", total=tokens, note="")

    def start(self, share: float) -> None:
        """Begin, `share` of the work being done already."""
        self._from = share
        self._started = self._spoken = time.monotonic()
        if self._bar:
            self._bar.start()
            self._bar.update(self._task, completed=share * self._tokens)

    def update(self, share: float) -> None:
        """Show that `share` of the work is done."""
        now = time.monotonic()
        rate = (share - self._from) * self._tokens / max(now - self._started, 1e-9)
        note = f"loss {self.loss:.3f}  {rate:.0f} tokens/s"
        if self._bar:
            self._bar.update(self._task, completed=share * self._tokens, note=note)
        elif now - self._spoken >= _LINE_EVERY_SECONDS:
            self._spoken = now
            left = (1 - share) * self._tokens / max(rate, 1e-9)
            sys.stdout.write(f"train {share:.0%}  {note}  {left / 60:.1f} min left\n")
            sys.stdout.flush()

    def stop(self) -> None:
        """End."""
        if self._bar:
            self._bar.stop()
