"""A gigabyte of output costs neither memory nor time."""

import resource
import time

import pytest

from components.sandbox.base import Tree
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

FLOODS = {
    "stdout": ["head", "-c", "1000000000", "/dev/zero"],
    "stderr": ["sh", "-c", "head -c 1000000000 /dev/zero >&2"],
    "both": ["sh", "-c", "yes & yes >&2"],
    "one line": ["python", "-c", "import sys\nwhile True: sys.stdout.write('x' * 65536)"],
}


CASES = [
    *((kind, flood) for kind in ("bubblewrap", "process") for flood in FLOODS),
    pytest.param("docker", "stdout", marks=pytest.mark.docker),
    pytest.param("docker", "both", marks=pytest.mark.docker),
]


@pytest.mark.parametrize(("kind", "flood"), CASES)
def test_it_is_cut_off(tiny_tree: Tree, kind: str, flood: str) -> None:
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        session.exec(["true"])
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.monotonic()
        result = session.exec(FLOODS[flood])
        seconds = time.monotonic() - started
        grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert result.killed == "output" and not result.timed_out
        assert result.exit_code == 137
        assert result.truncated
        assert len(result.stdout) + len(result.stderr) <= 2 * SMALL.output_bytes + 200
        assert seconds < 50
        assert grown_kb < 16 * 1024
        assert session.exec(["echo", "fine"]).stdout == "fine\n"


@pytest.mark.parametrize("kind", BACKENDS)
def test_output_below_the_flood_is_read_to_its_end(tiny_tree: Tree, kind: str) -> None:
    limits = SMALL.model_copy(update={"output_bytes": 65536})
    with sandbox_of(kind).open(tiny_tree, limits=limits) as session:
        result = session.exec(["sh", "-c", "head -c 8000000 /dev/zero | tr '\\0' x; echo end"])
        assert (result.exit_code, result.killed, result.truncated) == (0, "", True)
        assert result.stdout.endswith("xend\n")
