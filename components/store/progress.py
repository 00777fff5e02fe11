"""A progress bar with ETA on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

SECONDS_BETWEEN_LINES = 15.0


class Progress:
    """Counts items up to a total; always on stderr, since stdout belongs to the command."""

    def __init__(self, description: str, total: int, done: int = 0) -> None:
        self._description, self._total, self.done, self._first = description, total, done, done
        self._bar: Bar | None = None

    def __enter__(self) -> "Progress":
        self._started = self._spoke = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._bar.start()
            self._task = self._bar.add_task(self._description, total=self._total, completed=self.done)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        elif kind is None and self._total:
            self._say(f"in {_clock(self._elapsed())}")

    def advance(self, count: int = 1) -> None:
        """Count items."""
        self.done += count
        if self._bar is not None:
            self._bar.advance(self._task, count)
        elif time.monotonic() - self._spoke >= SECONDS_BETWEEN_LINES:
            self._spoke = time.monotonic()
            seconds_each = self._elapsed() / max(1, self.done - self._first)
            left = (self._total - self.done) * seconds_each
            self._say(f"eta {_clock(left)}")

    def reach(self, done: int) -> None:
        """Count items up to so many, if that is more than there were."""
        if done > self.done:
            self.advance(done - self.done)

    def _say(self, note: str) -> None:
        sys.stderr.write(f"{self._description}: {self.done}/{self._total}, {note}\n")
        sys.stderr.flush()

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
