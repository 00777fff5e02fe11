"""Milliseconds to open a session, run a command in it and close it, beside `docker run`.

    python -m benchmarks.sandbox_latency [--json]

Rounds alternate between the backends, so that a busy machine slows all; the figure is the median of the
rounds. Docker is left out where no daemon answers.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from components.records.errors import FlywheelError
from components.sandbox import make_sandbox
from components.sandbox.base import Sandbox, Tree
from components.sandbox.config import SandboxConfig

Round = dict[str, float]
FILES = 300
"""In the tree: about as many as boltons has."""


def make_tree(folder: Path) -> Tree:
    """A repository of small files, and an environment without packages."""
    repo = folder / "repo"
    for number in range(FILES):
        path = repo / f"pkg{number % 10}" / f"module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"VALUE = {number}\n" * 200)
    venv.create(folder / "env", symlinks=True, with_pip=False)
    return Tree(environment=folder / "env", repo=repo, digest="benchmark")


def one_round(sandbox: Sandbox, tree: Tree) -> Round:
    """One session."""
    started = time.perf_counter()
    session = sandbox.open(tree)
    opened = time.perf_counter()
    with session:
        session.exec(["true"])
        ran = time.perf_counter()
        session.write("pkg0/module0.py", b"VALUE = -1\n")
        session.diff()
        compared = time.perf_counter()
    closed = time.perf_counter()
    return {
        "open": opened - started,
        "exec": ran - opened,
        "write and diff": compared - ran,
        "close": closed - compared,
        "all": closed - started,
    }


def docker_run(image: str) -> Round:
    """What others do for each command."""
    started = time.perf_counter()
    command = ["docker", "run", "--rm", "--network", "none", image, "true"]
    subprocess.run(command, check=True, capture_output=True)
    return {"all": time.perf_counter() - started}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--target", type=float, default=5.0, help="exit with 1 below this ratio to docker run"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    image = SandboxConfig().docker_image
    with tempfile.TemporaryDirectory(prefix="sandbox-latency-") as temporary:
        tree = make_tree(Path(temporary))
        sides: dict[str, Callable[[], Round]] = {}
        for kind in ("bubblewrap", "docker"):
            sandbox = make_sandbox(SandboxConfig.model_validate({"kind": kind}))
            try:
                one_round(sandbox, tree)  # the first makes an image, or hands the tree over
            except FlywheelError as error:
                print(f"{kind} is left out: {error}", file=sys.stderr)
                continue
            sides[kind] = partial(one_round, sandbox, tree)
        if "docker" in sides:
            sides["docker run"] = partial(docker_run, image)
        rounds: dict[str, list[Round]] = {name: [] for name in sides}
        for _ in range(options.rounds):
            for name, run in sides.items():
                rounds[name].append(run())
    result = {
        name: {part: round(statistics.median(one[part] for one in seen) * 1000, 1) for part in seen[0]}
        for name, seen in rounds.items()
    }
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for name, parts in result.items():
            print(f"{name:12}" + "".join(f"{part} {value:.1f} ms   " for part, value in parts.items()))
    if "docker run" not in result or "bubblewrap" not in result:
        return 0
    ratio = result["docker run"]["all"] / result["bubblewrap"]["all"]
    print(f"docker run / bubblewrap {ratio:.1f}x, target {options.target:g}x", file=sys.stderr)
    return 0 if ratio >= options.target else 1


if __name__ == "__main__":
    sys.exit(main())
