"""Nothing is left behind: not after close, not when the owner is killed, not by eight at once."""

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import psutil
import pytest

from components.sandbox import process
from components.sandbox.base import Sandbox, Tree
from components.sandbox.config import SandboxConfig
from components.sandbox.docker import OWNER_LABEL, SESSION_LABEL, collect_garbage
from components.sandbox.dockerimage import TREE_LABEL
from components.sandbox.owner import is_gone, this_process
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

SECONDS = f"7531.{os.getpid()}"
"""How long a process sleeps that we look for: nobody else's does."""

OWNER = """
import sys, time
from pathlib import Path
from components.sandbox import make_sandbox
from components.sandbox.base import Tree
from components.sandbox.config import SandboxConfig
tree = Tree(Path(sys.argv[2]), Path(sys.argv[3]), "tests")
session = make_sandbox(SandboxConfig(kind=sys.argv[1])).open(tree)
session.write("mine", b"x")
print("open", flush=True)
if sys.argv[4] == "busy":
    session.exec(["sh", "-c", "(setsid sleep " + sys.argv[5] + " &) ; exec sleep " + sys.argv[5]], timeout=600)
time.sleep(600)
"""


def mounts() -> set[str]:
    # Without those of the docker daemon, whose containers come and go.
    lines = Path("/proc/mounts").read_text().splitlines()
    return {line.split(" ", 1)[1] for line in lines if "docker" not in line}


def descendants() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def own_folders() -> set[str]:
    found = Path(tempfile.gettempdir()).glob("flywheel-process-*/owner")
    return {str(path) for path in found if path.read_text() == this_process()}


def own_containers(kind: str) -> list[str]:
    if kind != "docker":
        return []
    client = docker.from_env()
    found = client.containers.list(all=True, filters={"label": SESSION_LABEL}, ignore_removed=True)
    client.close()
    return [str(one.name) for one in found if one.labels[OWNER_LABEL] == this_process()]


def sleepers(seconds: str = SECONDS) -> list[int]:
    return [p.pid for p in psutil.process_iter(["cmdline"]) if (p.info["cmdline"] or [])[-1:] == [seconds]]


def holders_of(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children(recursive=True)


def wait_until_gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive


@pytest.mark.parametrize("kind", [*BACKENDS, "bubblewrap-copy", "process"])
def test_nothing_is_left_after_close(tree: Tree, kind: str) -> None:
    sandbox = sandbox_of(kind)
    before = mounts(), descendants(), own_folders(), own_containers(kind)
    files = len(list(Path("/proc/self/fd").iterdir()))
    with sandbox.open(tree, limits=SMALL) as session:
        session.exec(["sh", "-c", "echo 1 > /tmp/x; echo 2 > y; sleep 100 & true"])
        session.exec(["sleep", "100"], timeout=0.2)
    # Docker's mounts are the daemon's, which other sessions use too; its connections are kept.
    after = mounts(), descendants(), own_folders(), own_containers(kind)
    assert after[1:] == before[1:]
    if kind != "docker":
        assert after[0] == before[0]
        assert len(list(Path("/proc/self/fd").iterdir())) == files


@pytest.mark.parametrize("state", ["idle", "busy"])
@pytest.mark.parametrize("kind", ["bubblewrap", "process"])
def test_nothing_is_left_when_the_owner_is_killed(tree: Tree, kind: str, state: str) -> None:
    before = mounts()
    argv = [sys.executable, "-c", OWNER, kind, str(tree.environment), str(tree.repo), state, SECONDS]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"open\n"
        deadline = time.monotonic() + 60
        while state == "busy" and len(sleepers()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        below = holders_of(owner.pid)
        owner.send_signal(signal.SIGKILL)
    if kind == "bubblewrap":
        assert below
        wait_until_gone(below)
        assert sleepers() == []
        assert mounts() == before
        return
    # Without isolation the kernel does not tidy up for us: the next session does.
    with sandbox_of("process").open(tree):
        pass
    assert sleepers() == []
    left = Path(tempfile.gettempdir()).glob("flywheel-process-*/owner")
    assert not [path for path in left if is_gone(path.read_text())]


@pytest.mark.parametrize("milliseconds", [0, 2, 4, 6, 8, 10, 15, 20])
def test_nothing_is_left_when_the_owner_is_killed_as_a_command_starts(tree: Tree, milliseconds: int) -> None:
    seconds = f"{SECONDS}{milliseconds:02}"  # what one case leaves behind is not held against the next
    argv = [sys.executable, "-c", OWNER, "bubblewrap", str(tree.environment), str(tree.repo), "busy", seconds]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"open\n"
        below = holders_of(owner.pid)
        time.sleep(milliseconds / 1000)
        owner.send_signal(signal.SIGKILL)
    wait_until_gone(below)
    time.sleep(0.5)  # what was about to start has started by now
    assert sleepers(seconds) == []


@pytest.mark.docker
def test_containers_of_a_dead_owner_are_collected_and_no_others(tree: Tree) -> None:
    sandbox = sandbox_of("docker")
    argv = [sys.executable, "-c", OWNER, "docker", str(tree.environment), str(tree.repo), "idle"]
    client = docker.from_env()
    image = SandboxConfig().docker_image
    stranger = client.containers.create(image, ["true"], network_mode="none")
    try:
        with sandbox.open(tree) as mine, subprocess.Popen(argv, stdout=subprocess.PIPE) as owner:
            assert owner.stdout is not None
            assert owner.stdout.readline() == b"open\n"
            assert collect_garbage() == []
            owner.kill()
            owner.wait()
            assert len(collect_garbage()) == 1
            assert mine.exec(["true"]).exit_code == 0
        assert client.containers.get(str(stranger.id))
    finally:
        stranger.remove(force=True)
        client.close()


@pytest.mark.docker
def test_images_of_trees_that_are_gone_are_collected(tree: Tree, environment: Path, tmp_path: Path) -> None:
    sandbox = sandbox_of("docker")
    repo = shutil.copytree(tree.repo, tmp_path / "repo", symlinks=True)
    with sandbox.open(tree), sandbox.open(Tree(environment, repo, "short-lived")):
        pass

    def folders() -> set[str]:
        client = docker.from_env()
        found = client.api.images(filters={"label": TREE_LABEL})
        client.close()
        return {image["Labels"].get("flywheel.tree.folder", "") for image in found}

    assert {str(tree.repo), str(repo)} <= folders()
    shutil.rmtree(repo)
    collect_garbage()
    assert str(repo) not in folders()
    assert str(tree.repo) in folders()


@pytest.mark.parametrize("kind", [*BACKENDS, "process"])
def test_eight_at_once(tree: Tree, kind: str) -> None:
    sandbox = sandbox_of(kind)

    def work(number: int) -> tuple[int, str, str]:
        with sandbox.open(tree, files={"number": str(number).encode()}, limits=SMALL) as session:
            result = session.exec(["sh", "-c", "cat number; echo $$ > pid; sleep 0.2; echo; ls"])
            hog = session.exec(["python", "-c", "while True: pass"], timeout=0.3)
            session.write("number", b"done\n")
            assert hog.timed_out
            return result.exit_code, result.stdout, session.diff()

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    for number, (exit_code, output, diff) in enumerate(results):
        assert exit_code == 0
        assert output.split() == [str(number), "README.md", "bin", "data", "inside", "number", "pid", "pkg"]
        assert f"-{number}\n\\ No newline" in diff and "+done\n" in diff and "b/pid" in diff


def test_a_session_opened_in_a_thread_outlives_it(tree: Tree) -> None:
    sandbox = sandbox_of("bubblewrap")
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(sandbox.open, tree).result()
    with session:
        assert session.exec(["echo", "alive"]).stdout == "alive\n"


def test_sandboxes_travel_to_other_processes(tree: Tree) -> None:
    for kind in ("bubblewrap", "docker", "process"):
        try:
            sandbox: Sandbox = pickle.loads(pickle.dumps(sandbox_of(kind)))
        except pytest.skip.Exception:
            continue
        assert sandbox.name == kind


def test_owners() -> None:
    me = this_process()
    assert not is_gone(me)
    boot, namespace, pid, start = me.split(":")
    assert is_gone(":".join([boot, namespace, pid, str(int(start) - 1)]))
    assert not is_gone(":".join(["another-machine", namespace, "1", "1"]))
    assert not is_gone("") and not is_gone("what:is:this")


def test_process_garbage_spares_the_living(tree: Tree) -> None:
    with sandbox_of("process").open(tree) as session:
        process.collect_garbage()
        assert session.exists("README.md")
