"""One function over many items in many processes: a small pool of our own.

Workers come from a fork server, so that they inherit neither the threads nor the locks nor the memory of a
process that has loaded torch. An item is the unit of work; a worker that dies takes only its item with it.
"""

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, NoReturn, TypeVar

from tenacity import (
    Retrying,
    retry_if_exception_type,
    retry_if_not_exception_type,
    stop_after_attempt,
    wait_exponential,
)

from components.records.errors import FlywheelError, InfrastructureError, OutOfSpaceError
from components.store.account import Account, account
from components.store.space import is_no_space

log = logging.getLogger(__name__)

ATTEMPTS = 3

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Done(Generic[R]):
    """What came of one item."""

    value: R
    account: Account
    seconds: float


@dataclass(frozen=True)
class Fault:
    """An exception that crossed a process border."""

    error: BaseException | None
    """None when it cannot be pickled."""
    text: str
    trace: str


class ItemFailed(RuntimeError):
    """A defect met while working on one item."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def attempt(work: Callable[[T], R], item: T, *, whole_process: bool = False) -> Done[R]:
    """Work on one item; a failure of the machine is tried again, a full disk is not."""
    started = time.perf_counter()
    retrying = Retrying(
        retry=retry_if_exception_type(InfrastructureError) & retry_if_not_exception_type(OutOfSpaceError),
        stop=stop_after_attempt(ATTEMPTS),
        wait=wait_exponential(multiplier=0.1, max=5),
        reraise=True,
    )

    def once() -> tuple[R, Account]:
        with account(
            whole_process=whole_process
        ) as mine:  # a new one for each attempt: what a failed attempt counted does not count
            return work(item), mine

    value, mine = retrying(once)
    return Done(value, mine, time.perf_counter() - started)


def fan_out(
    work: Callable[[T], R], items: Iterable[T], *, workers: int, name: Callable[[T], str]
) -> Iterator[tuple[int, Done[R]]]:
    """Yield the index and the outcome of every item, in the order of completion.

    Raises:
        InfrastructureError: An item met failures of the machine, or killed its worker, three times.
        FlywheelError: An item raised it; the message names the item.
        ItemFailed: An item raised anything else.
    """
    queue = deque(enumerate(items))
    if workers <= 1 or len(queue) <= 1:
        for index, item in queue:
            try:
                done = attempt(work, item)
            except Exception as error:  # noqa: BLE001 - it goes on with the name of the item
                raise_named(error, name(item))
            yield index, done
        return
    with _Pool(work, min(workers, len(queue))) as pool:
        deaths: dict[int, int] = {}
        while queue or pool.busy:
            for worker in pool.idle():
                if queue:
                    worker.send(*queue.popleft())
            for index, item, outcome in pool.outcomes():
                if outcome is None:
                    deaths[index] = deaths.get(index, 0) + 1
                    log.warning("a worker died while working on %s", name(item))
                    if deaths[index] >= ATTEMPTS:
                        raise InfrastructureError(
                            f"{name(item)}: its worker process died {ATTEMPTS} times (out of memory?)"
                        )
                    queue.appendleft((index, item))
                elif isinstance(outcome, Fault):
                    fault = outcome.error or ItemFailed(outcome.text)
                    fault.__cause__ = _Trace(outcome.trace)
                    raise_named(fault, name(item))
                else:
                    yield index, outcome


class _Trace(Exception):
    """Shows the traceback of a worker under the exception in this process."""

    def __str__(self) -> str:
        return "\n" + str(self.args[0])


def raise_named(error: BaseException, item: str) -> NoReturn:
    """Raise an error met while working on an item, so that it names the item."""
    if is_no_space(error):
        raise error  # it is about the machine, whatever the item
    if isinstance(error, FlywheelError):
        error.args = (f"{item}: {error}",)
        raise error
    text = str(error) if isinstance(error, ItemFailed) else f"{type(error).__name__}: {error}"
    raise ItemFailed(f"{item}: {text}") from error


class _Worker:
    def __init__(self, context: multiprocessing.context.ForkServerContext, payload: bytes) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, payload, dict(os.environ)), daemon=True)
        self.process.start()
        theirs.close()
        self.task: tuple[int, Any] | None = None

    def send(self, index: int, item: object) -> None:
        self.task = (index, item)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # dead: `outcomes` finds out
            self.pipe.send(item)

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class _Pool(Generic[T, R]):
    def __init__(self, work: Callable[[T], R], size: int) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["components.store.output"])
        self._payload = pickle.dumps(work)
        self._workers = [_Worker(self._context, self._payload) for _ in range(size)]

    def __enter__(self) -> "_Pool[T, R]":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()

    @property
    def busy(self) -> bool:
        return any(worker.task is not None for worker in self._workers)

    def idle(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.task is None]

    def outcomes(self) -> Iterator[tuple[int, T, "Done[R] | Fault | None"]]:
        """Wait for outcomes; None stands for a worker that died, which is replaced."""
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None}
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]
            assert worker.task is not None
            index, item = worker.task
            try:
                outcome = pickle.loads(worker.pipe.recv_bytes())
            except (EOFError, ConnectionResetError):
                outcome = None
                worker.close()
                self._workers[self._workers.index(worker)] = _Worker(self._context, self._payload)
            worker.task = None
            yield index, item, outcome


def _serve(pipe: "Connection[Any, Any]", payload: bytes, environment: dict[str, str]) -> None:
    """Main function of a worker."""
    # The fork server has the variables of the moment when it was started.
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_die_with_parent, daemon=True).start()
    work = None
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        try:
            work = work or pickle.loads(payload)
            reply = pickle.dumps(attempt(work, item, whole_process=True))
        except Exception as error:  # noqa: BLE001 - it goes on in the parent
            reply = _fault(error)
        pipe.send_bytes(reply)


def _fault(error: Exception) -> bytes:
    text, trace = f"{type(error).__name__}: {error}", traceback.format_exc()
    try:
        return pickle.dumps(Fault(_through_pickle(error), text, trace))
    except Exception:  # noqa: BLE001 - an exception may hold anything
        return pickle.dumps(Fault(None, text, trace))


def _through_pickle(error: Exception) -> Exception | None:
    error.__cause__ = error.__context__ = None
    pickle.loads(pickle.dumps(error))
    return error


def _die_with_parent() -> None:
    """A worker must not outlive a killed parent: the rerun would meet it in the same folder."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
