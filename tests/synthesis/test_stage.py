"""The stage end to end on a repository of three files, through the store."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from components.records.errors import ConfigError, InfrastructureError
from components.records.evaluation import MixWeight
from components.records.repository import Coverage, Environment, Licence, Recipe, Repository, Source
from components.records.task import Candidate, Rejection, RejectReason
from components.sandbox.trees import environment_path, repo_path
from components.store import Dataset, Output, Store, Workspace, execute
from components.synthesis.config import SynthesisConfig
from components.synthesis.stage import SynthesisStage

CODE = """\
def clamp(value, low=0, high=10):
    if value < low:
        return low
    if value > high:
        return high
    return value


def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)
"""
OTHER = "def last(items):\n    return items[-1] if items else None\n"
FILES = {
    "pkg/a.py": CODE,
    "pkg/tests/test_a.py": CODE,
    "pkg/test_b.py": CODE,
    "tests/helper.py": CODE,
    "setup.py": CODE,
    "pkg/broken.py": "def f(:\n",
    "pkg/data.txt": CODE,
}


class Nothing(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Repositories:
    """Writes what the repositories stage would."""

    name = "repositories"
    version = 1

    def __init__(self, trees: Mapping[str, str], covered: tuple[int, ...] = ()) -> None:
        self.trees = trees
        self.covered = covered

    def run(self, config: Nothing, inputs: Mapping[str, Dataset], out: Output) -> None:
        rows = [
            Repository(
                id=name,
                name=name.partition("@")[0],
                version="1.0",
                source=Source(kind="path", location="x", pin="x"),
                licence=Licence(spdx="MIT", evidence="LICENSE", evidence_sha256="0"),
                tree_sha256=tree,
                environment="e" * 64,
            )
            for name, tree in self.trees.items()
        ]
        recipe = Recipe(test_paths=("tests", "pkg"), source_paths=("pkg",))
        environment = Environment(
            digest="e" * 64, repository_id="demo@1.0", recipe=recipe, python="3", lock=()
        )
        out.write("repositories", rows, Repository)
        out.write("environments", [environment], Environment)
        rows_of = [
            Coverage(repository_id="demo@1.0", test=f"t{line}", path="pkg/a.py", lines=(line,))
            for line in self.covered
        ]
        out.write("coverage", rows_of, Coverage)


class Mix:
    """Writes the part of the analysis that synthesis reads."""

    name = "analyse"
    version = 1

    def run(self, config: Nothing, inputs: Mapping[str, Dataset], out: Output) -> None:
        row = MixWeight(
            strategy="procedural.arithmetic", repository_id="demo@1.0", attempted=3, resolved=0, weight=0.9
        )
        flat = MixWeight(
            strategy="procedural.constant", repository_id="demo@1.0", attempted=3, resolved=3, weight=0.1
        )
        out.write("mix", [row, flat], MixWeight)


def place(workspace: Workspace, tree: str, files: Mapping[str, str]) -> None:
    environment_path(workspace, "e" * 64).mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = repo_path(workspace, tree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def make(
    folder: Path,
    files: Mapping[str, str],
    config: SynthesisConfig | None = None,
    mix: bool = False,
    covered: tuple[int, ...] = (),
) -> Dataset:
    workspace = Workspace(folder)
    store = Store(workspace)
    place(workspace, "t" * 64, files)
    inputs = {"repositories": execute(Repositories({"demo@1.0": "t" * 64}, covered), Nothing(), {}, store)}
    if mix:
        inputs["mix"] = execute(Mix(), Nothing(), {}, store)
    return execute(SynthesisStage(), config or SynthesisConfig(workers=1), inputs, store)


def test_candidates_and_rejections(tmp_path: Path) -> None:
    made = make(tmp_path, FILES)
    rows = made.rows("candidates", Candidate)
    assert {row.path for row in rows} == {"pkg/a.py"}
    assert {row.function for row in rows} == {"clamp", "mean"}
    assert all(row.id.startswith(f"demo@1.0/{row.strategy}/") for row in rows)
    assert len({row.strategy for row in rows}) > 8
    for row in rows:
        assert row.bug_patch.startswith("diff --git a/pkg/a.py b/pkg/a.py\n")
    rejected = made.rows("rejected", Rejection)
    assert [row.reason for row in rejected if row.candidate_id.endswith("pkg/broken.py")] == [
        RejectReason.SYNTAX
    ]
    assert sum(made.manifest.rejected.values()) == len(rejected)


def test_two_workers_give_the_same_digest(tmp_path: Path) -> None:
    one = make(tmp_path / "a", {**FILES, "pkg/b.py": OTHER})
    two = make(tmp_path / "b", {**FILES, "pkg/b.py": OTHER}, SynthesisConfig(workers=2))
    assert one.digest == two.digest


def test_a_new_file_changes_no_other_candidate(tmp_path: Path) -> None:
    before = make(tmp_path / "a", FILES).rows("candidates", Candidate)
    after = make(tmp_path / "b", {**FILES, "pkg/b.py": OTHER}).rows("candidates", Candidate)
    assert [row for row in after if row.path == "pkg/a.py"] == before
    assert any(row.path == "pkg/b.py" for row in after)


def test_caps_and_excluded_files(tmp_path: Path) -> None:
    config = SynthesisConfig(workers=1, max_candidates=8, max_per_function=5, exclude=("*/b.py",))
    rows = make(tmp_path, {**FILES, "pkg/b.py": OTHER}, config).rows("candidates", Candidate)
    assert len(rows) == 8
    assert {row.path for row in rows} == {"pkg/a.py"}
    assert all(sum(row.function == name for row in rows) <= 5 for name in ("clamp", "mean"))


def test_the_previous_iteration_steers(tmp_path: Path) -> None:
    config = SynthesisConfig(
        workers=1, max_candidates=2, rewriters=("arithmetic", "constant"), max_per_function=50
    )
    (plain, steered) = (make(tmp_path / name, FILES, config, mix=name == "mix") for name in ("plain", "mix"))
    strategies = sorted(row.strategy for row in plain.rows("candidates", Candidate))
    assert strategies == ["procedural.arithmetic", "procedural.constant"]
    strategies = [row.strategy for row in steered.rows("candidates", Candidate)]
    assert strategies == ["procedural.arithmetic"] * 2


def test_only_lines_that_a_test_runs(tmp_path: Path) -> None:
    rows = make(tmp_path / "a", FILES, covered=(2, 13)).rows("candidates", Candidate)
    assert {row.line for row in rows} == {2, 13}
    everywhere = SynthesisConfig(workers=1, covered_only=False)
    rows = make(tmp_path / "b", FILES, everywhere, covered=(2, 13)).rows("candidates", Candidate)
    assert {2, 3, 12, 13} < {row.line for row in rows}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"rewriters": ("nope",)}, "synthesis.rewriters: 'nope'"),
        ({"weights": {"nope": 1.0}}, "synthesis.weights: 'nope'"),
        ({"weights": {"boolean": -1.0}}, "synthesis.weights.boolean: -1.0"),
        ({"rewriters": ("boolean",), "weights": {"boolean": 0.0}}, "at least one rewriter"),
    ],
)
def test_bad_config(tmp_path: Path, config: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make(tmp_path, FILES, SynthesisConfig.model_validate_json(json.dumps(config)))


def test_a_missing_tree_says_what_to_do(tmp_path: Path) -> None:
    store = Store(Workspace(tmp_path))
    inputs = {"repositories": execute(Repositories({"demo@1.0": "0" * 64}), Nothing(), {}, store)}
    with pytest.raises(InfrastructureError, match="run the repositories stage"):
        execute(SynthesisStage(), SynthesisConfig(workers=1), inputs, store)
