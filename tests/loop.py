"""A whole loop small enough for tests: the tiny repository, another that is never trained on, a tiny random model."""

import json
import subprocess
import sys
from pathlib import Path

import yaml

from components.repos.tree import pin_of
from tests.conftest import TINYLIB

ROOT = Path(__file__).parents[1]
_OTHER = {
    "LICENSE": (ROOT / "tests" / "fixtures" / "tinylib" / "LICENSE").read_text(),
    "otherlib/__init__.py": "",
    "otherlib/money.py": """\
def total(prices, tax=0.2):
    amount = 0.0
    for price in prices:
        amount += price
    return amount * (1 + tax)


def discount(amount, percent):
    if percent < 0 or percent > 100:
        raise ValueError(percent)
    return amount - amount * percent / 100


def cheapest(prices, count=1):
    ranked = sorted(prices)
    return ranked[:count]
""",
    "tests/test_money.py": """\
import pytest

from otherlib.money import cheapest, discount, total


def test_total():
    assert total([1, 2], tax=0.5) == 4.5


def test_total_default_tax():
    assert total([10]) == 12.0


def test_discount():
    assert discount(50, 10) == 45


def test_discount_all():
    assert discount(50, 100) == 0


def test_discount_too_much():
    with pytest.raises(ValueError):
        discount(1, 101)


def test_cheapest():
    assert cheapest([3, 1, 2], 2) == [1, 2]


def test_cheapest_one():
    assert cheapest([3, 1, 2]) == [1]
""",
}


def write_params(folder: Path, *, library: Path | None = None, **changes: object) -> Path:
    """A parameter file for a loop of seconds; state goes to `<folder>/state`.

    Args:
        folder: For the file and the state.
        library: Where the second repository lies: its place is part of the data, so equal loops share it.
        changes: Sections that take the place of these.
    """
    other = library or folder / "otherlib"
    if not other.exists():
        for name, text in _OTHER.items():
            (other / name).parent.mkdir(parents=True, exist_ok=True)
            (other / name).write_text(text)
    entries = [
        {
            "name": path.name,
            "version": "1.0",
            "kind": "path",
            "location": str(path),
            "pin": pin_of(path),
            "suite_seconds": 60,
            "never_train": path is other,
        }
        for path in (TINYLIB, other)
    ]
    tree: dict[str, object] = {
        "workspace": str(folder / "state"),
        "repositories": {"catalogue": entries, "workers": 1},
        "synthesis": {"max_candidates": 40, "workers": 1},
        "validation": {
            "targets": {"train": 8, "heldout": 3, "heldout_repo": 2},
            "wave": [2, 8],
            "heldout_fraction": 0.4,
            "workers": 1,
        },
        "distill": {"shard_tasks": 3},
        "base_model": {"source": "random:tiny"},
        "train": {"epochs": 2, "save_every": 1, "threads": 1, "bf16": False},
        "limits": {"max_turn_tokens": 12, "max_turns": 6},
        "evaluate": {"settings": ["visible"]},
    }
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(tree | changes))
    return path


def command(params: Path, *arguments: str) -> list[str]:
    """The command that runs an iteration without Prefect."""
    return [sys.executable, "-m", "components.cli", "run", "--params", str(params), "--json", *arguments]


def run_loop(params: Path, *arguments: str) -> dict[str, object]:
    """Run an iteration in a process of its own; what it prints as JSON."""
    done = subprocess.run(command(params, *arguments), capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    printed: dict[str, object] = json.loads(done.stdout)
    return printed


def datasets(printed: dict[str, object]) -> dict[str, str]:
    """Step -> digest."""
    record = printed["iteration"]
    assert isinstance(record, dict)
    found: dict[str, str] = record["datasets"]
    return found
