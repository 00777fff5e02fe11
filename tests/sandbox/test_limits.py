"""What a command may use, and what ends it when it uses more."""

import time

import psutil
import pytest

from components.records.errors import InputError
from components.sandbox.base import Session, Tree
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

PYTHON_HOG = "x = []\nwhile True: x.append(bytearray(b'1') * (8 << 20))"
MANY_HOGS = (
    "import os, time, sys\n"
    "for _ in range(6):\n"
    "    if os.fork() == 0:\n"
    "        x = bytearray(b'1') * (100 << 20)\n"
    "        time.sleep(5)\n"
    "        os._exit(0)\n"
    "sys.exit(max(os.wait()[1] for _ in range(6)))\n"
)


def test_one_process_that_hogs_memory(session: Session) -> None:
    result = session.exec(["python", "-c", PYTHON_HOG])
    assert result.exit_code != 0
    assert result.killed == "memory" or "MemoryError" in result.stderr
    assert session.exec(["echo", "fine"]).stdout == "fine\n"


def test_many_processes_that_hog_memory_together(session: Session) -> None:
    result = session.exec(["python", "-c", MANY_HOGS], timeout=90)
    assert result.killed == "memory"
    assert session.exec(["echo", "fine"]).stdout == "fine\n"


def test_memory_that_is_in_no_process(session: Session) -> None:
    code = (
        "import os\n"
        "held = []\n"
        "while True:\n"
        "    fd = os.memfd_create('hidden')\n"
        "    for _ in range(16): os.write(fd, bytes(1 << 20))\n"
        "    held.append(fd)\n"
        "    if len(held) * 16 > 1024: print('a gigabyte'); break\n"
    )
    result = session.exec(["python", "-c", code])
    assert "a gigabyte" not in result.stdout
    assert result.exit_code != 0


def test_shared_memory_is_bounded(session: Session) -> None:
    result = session.exec(["sh", "-c", "head -c 500000000 /dev/zero > /dev/shm/x; echo $?"])
    assert result.stdout != "0\n"
    assert session.exec(["echo", "fine"]).stdout == "fine\n"


def test_an_endless_loop_runs_out_of_time(session: Session) -> None:
    result = session.exec(["python", "-c", "while True: pass"], timeout=0.5)
    assert (result.exit_code, result.timed_out, result.killed) == (124, True, "wall")
    assert 0.4 < result.seconds < 30


# A busy machine gives a command little time, and a starved docker daemon needs long to end it.
ONE_SECOND = SMALL.model_copy(update={"cpu_seconds": 1.0, "wall_seconds": 90.0})


def test_processor_time(session: Session) -> None:
    result = session.exec(["python", "-c", "while True: pass"], limits=ONE_SECOND)
    assert result.killed == "cpu" and not result.timed_out


def test_processor_time_of_many_processes(session: Session) -> None:
    code = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    assert session.exec(["python", "-c", code], limits=ONE_SECOND).killed == "cpu"


def test_one_large_file(session: Session) -> None:
    result = session.exec(["sh", "-c", "head -c 200000000 /dev/zero > big"])
    assert result.exit_code != 0
    assert session.exec(["sh", "-c", "rm -f big; echo fine"]).stdout == "fine\n"


@pytest.mark.parametrize("place", ["/repo", "/tmp"])
def test_many_files_that_fill_the_disk(session: Session, place: str) -> None:
    more = f"head -c 4000000 /dev/zero > {place}/f$i"
    script = f"i=0; while {more}; do i=$((i+1)); [ $i -gt 100 ] && exit 0; done; exit 9"
    result = session.exec(["sh", "-c", script])
    assert result.exit_code != 0
    assert result.killed == "disk" or place == "/tmp"
    assert (
        session.exec(["sh", "-c", f"rm -f {place}/f*; echo fine > {place}/f; cat {place}/f"]).stdout
        == "fine\n"
    )


def test_files_that_take_no_space(tree: Tree) -> None:
    code = "i = 0\nwhile True:\n    open(f'/tmp/{i}', 'w').close()\n    i += 1"
    with sandbox_of("bubblewrap").open(tree, limits=SMALL) as session:
        result = session.exec(["python", "-c", code])
        assert result.killed == "disk"
        assert result.seconds < SMALL.wall_seconds


def test_limits_of_one_command_are_not_those_of_the_next(session: Session) -> None:
    tight = SMALL.model_copy(update={"wall_seconds": 0.3, "output_bytes": 10})
    assert session.exec(["sleep", "5"], limits=tight).timed_out
    assert session.exec(["seq", "1000"], limits=tight).truncated
    assert session.exec(["sh", "-c", "sleep 0.5; seq 100"]).exit_code == 0


def test_writing_more_than_the_disk_from_outside_is_an_error(tree: Tree) -> None:
    with sandbox_of("bubblewrap").open(tree, limits=SMALL) as session:
        with pytest.raises(InputError, match="disk limit"):
            session.write("big", bytes(64 << 20))
        session.delete("big")
        session.write("small", b"1")


@pytest.mark.parametrize("kind", BACKENDS)
def test_waiting_for_a_command_costs_next_to_nothing(tree: Tree, kind: str) -> None:
    me = psutil.Process()
    with sandbox_of(kind).open(tree, limits=SMALL) as session:
        session.exec(["true"])
        before = sum(me.cpu_times()[:2])
        started = time.monotonic()
        session.exec(["sleep", "3"])
        used = sum(me.cpu_times()[:2]) - before
    assert used < 0.1 * (time.monotonic() - started)
