"""Parsing Python in threads."""

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.grading import syntax


@pytest.fixture
def busy_collector() -> Iterator[None]:
    """A garbage collection every few objects, each of which runs code of Python."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def work(phase: str, info: dict[str, int]) -> None:
        sum(range(50))

    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(work)
    yield
    gc.callbacks.remove(work)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("busy_collector")
def test_threads_may_parse_at_the_same_time() -> None:
    """With `ast.parse` itself Python 3.11 fails here within a tenth of a second."""
    text = Path(syntax.__file__).read_text() + "x = [(1, {2: f(3)})]\n" * 50
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(20):
                syntax.parse(text)
        except SystemError as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
