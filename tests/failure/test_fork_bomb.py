"""A command that forks until it cannot."""

import threading
import time

import psutil
import pytest

from components.sandbox.base import Tree
from tests.sandbox.daemon import SMALL, sandbox_of

BOMBS = {
    "shell": ["sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 60"],
    "python": ["python", "-c", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"],
    "daemons": [
        "python",
        "-c",
        "import os\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    except OSError: pass",
    ],
    "threads": [
        "python",
        "-c",
        "import threading, time\nwhile True:\n"
        "    try: threading.Thread(target=time.sleep, args=(60,)).start()\n    except RuntimeError: pass",
    ],
}


# In docker one will do: it takes seconds to bury, and the limit is the same.
CASES = [
    *(("bubblewrap", bomb) for bomb in BOMBS),
    pytest.param("docker", "python", marks=pytest.mark.docker),
]
# A shell gives up when it cannot fork, and threads run out of memory first: neither stays at the limit.
FADING = ("shell", "threads")


@pytest.mark.parametrize(("kind", "bomb"), CASES)
def test_it_is_contained_and_ended(tiny_tree: Tree, kind: str, bomb: str) -> None:
    most, stop = [0], threading.Event()
    before = len(psutil.pids())

    def count() -> None:
        while not stop.wait(0.02):
            most[0] = max(most[0], len(psutil.pids()))

    counter = threading.Thread(target=count)
    limits = SMALL.model_copy(update={"wall_seconds": 4.0 if bomb in FADING else 60.0})
    with sandbox_of(kind).open(tiny_tree, limits=limits) as session:
        counter.start()
        started = time.monotonic()
        result = session.exec(BOMBS[bomb])
        seconds = time.monotonic() - started
        stop.set()
        counter.join()
        assert result.killed == "pids" or (bomb in FADING and result.killed in ("wall", "cpu"))
        assert seconds < 60
        # Others' processes come and go too; a bomb that is not contained makes thousands.
        assert most[0] - before < SMALL.pids + 150
        assert session.exec(["echo", "fine"]).stdout == "fine\n"
        assert int(session.exec(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"]).stdout) < 8
