"""Counts of what the code at work on one shard turned away and spent.

A shard may be worked on in another process and be skipped after a restart, so `reject` and `cost` cannot go
to an object of the stage: they go to the account that is open in this process, and from there into the
shard's completion marker.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass
class Account:
    """Rejections by reason and costs by name."""

    rejected: Counter[str] = field(default_factory=Counter)
    cost: dict[str, float] = field(default_factory=dict)

    def spend(self, amounts: dict[str, float]) -> None:
        """Add amounts."""
        for name, amount in amounts.items():
            self.cost[name] = self.cost.get(name, 0.0) + float(amount)

    def add(self, other: "Account") -> None:
        """Add another account."""
        self.rejected.update(other.rejected)
        self.spend(other.cost)


_open: ContextVar[Account | None] = ContextVar("account", default=None)


@contextmanager
def account() -> Iterator[Account]:
    """Open an account for the code inside."""
    mine = Account()
    token = _open.set(mine)
    try:
        yield mine
    finally:
        _open.reset(token)


def current() -> Account | None:
    """The open account."""
    return _open.get()


def reject(reason: str, count: int = 1) -> None:
    """Count rejections from inside the `work` of `Output.shards`."""
    _need().rejected[str(reason)] += count


def cost(**amounts: float) -> None:
    """Count costs, e.g. `cost(tokens=120)`, from inside the `work` of `Output.shards`."""
    _need().spend(amounts)


def _need() -> Account:
    mine = _open.get()
    if mine is None:
        raise RuntimeError("no shard is being worked on: outside of `work`, use Output.reject and .cost")
    return mine
