"""Counts of what the code at work on one shard turned away and spent.

A shard may be worked on in another process and be skipped after a restart, so `reject` and `cost` cannot go
to an object of the stage: they go to the account that is open in this process, and from there into the
shard's completion marker.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock


@dataclass
class Account:
    """Rejections by reason and costs by name."""

    rejected: Counter[str] = field(default_factory=Counter)
    cost: dict[str, float] = field(default_factory=dict)

    def spend(self, amounts: Mapping[str, float]) -> None:
        """Add amounts."""
        with _lock:
            for name, amount in amounts.items():
                self.cost[name] = self.cost.get(name, 0.0) + float(amount)

    def turn_away(self, counts: Mapping[str, int]) -> None:
        """Add rejections."""
        with _lock:
            self.rejected.update(counts)

    def add(self, other: "Account") -> None:
        """Add another account."""
        self.turn_away(other.rejected)
        self.spend(other.cost)


_lock = Lock()
_open: ContextVar[Account | None] = ContextVar("account", default=None)
_process: Account | None = None


@contextmanager
def account(*, whole_process: bool = False) -> Iterator[Account]:
    """Open an account for the code inside; `whole_process`: for the threads that it starts too."""
    global _process
    mine = Account()
    token = _open.set(mine)
    if whole_process:
        _process = mine
    try:
        yield mine
    finally:
        _open.reset(token)
        if whole_process:
            _process = None


def current() -> Account | None:
    """The open account."""
    return _open.get() or _process


def reject(reason: str, count: int = 1) -> None:
    """Count rejections from inside the `work` of `Output.shards`."""
    _need().turn_away({str(reason): count})


def cost(**amounts: float) -> None:
    """Count costs, e.g. `cost(tokens=120)`, from inside the `work` of `Output.shards`."""
    _need().spend(amounts)


def _need() -> Account:
    mine = current()
    if mine is None:
        raise RuntimeError("no shard is being worked on: outside of `work`, use Output.reject and .cost")
    return mine
