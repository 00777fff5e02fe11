"""The `evaluate` stage: a checkpoint on held-out tasks through the scaffold and the grader."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from components.agents.loop import run_rollouts
from components.agents.models import Model, make_model
from components.agents.models.config import LocalConfig, ModelConfig
from components.agents.rollout import Job
from components.evaluation.config import EvaluateConfig
from components.evaluation.predictions import write_predictions
from components.evaluation.score import score
from components.evaluation.statistics import mean
from components.records.base import Record
from components.records.errors import InputError
from components.records.evaluation import Score, Speed
from components.records.repository import Environment, Recipe, Repository
from components.records.task import Task
from components.records.training import Checkpoint
from components.records.trajectory import Timing, Trajectory, split_timing
from components.sandbox import make_sandbox
from components.sandbox.base import Tree
from components.sandbox.trees import tree_for
from components.store.dataset import Dataset
from components.store.output import Output

TABLES: dict[str, type[Record]] = {"trajectories": Trajectory, "timings": Timing}


@dataclass(frozen=True)
class _Block:
    """All rollouts of one suite in one setting."""

    suite: str
    setting: str
    jobs: tuple[Job, ...]


class EvaluateStage:
    """Inputs `repositories`, `tasks`, `checkpoint`; tables `trajectories`, `scores`; SWE-bench files."""

    name = "evaluate"
    version = 4

    def run(self, config: EvaluateConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Roll out, grade, score."""
        checkpoint = inputs["checkpoint"].rows("checkpoint", Checkpoint)[0]
        repositories = {row.id: row for row in inputs["repositories"].rows("repositories", Repository)}
        recipes = {
            row.repository_id: row.recipe for row in inputs["repositories"].rows("environments", Environment)
        }
        blocks = _blocks(config, inputs["tasks"].rows("tasks", Task), recipes)
        if not blocks:
            raise InputError(f"no task in {', '.join(config.suites)}: nothing to evaluate; synthesise more")

        def tree(task: Task) -> Tree:
            repository = repositories[task.repository_id]
            return tree_for(out.workspace, repository.id, repository.tree_sha256, task.environment)

        model: Model = make_model(_filled(config.model, inputs["checkpoint"], checkpoint))
        if not isinstance(config.model, LocalConfig):
            out.nondeterministic("a served model")
        for setting in config.settings:
            # All suites together: the larger a batch, the more tokens a second.
            jobs = [job for block in blocks if block.setting == setting for job in block.jobs]
            out.batch_shards(
                TABLES,
                jobs,
                _work(config, model, tree, out),
                key=lambda job: job.key,
                shard_size=shard_size(len(jobs), config.concurrency),
                desc=f"evaluate, {setting} tests",
            )
        self._summarise(blocks, model.name, out)

    def _summarise(self, blocks: Sequence[_Block], model: str, out: Output) -> None:
        trajectories = {row.id: row for row in out.rows("trajectories", Trajectory)}
        by_job = {_job_key(row): row for row in trajectories.values()}
        seconds = {row.trajectory_id: row.seconds for row in out.rows("timings", Timing)}
        folder = out.folder("predictions")
        scores, speeds = [], []
        for block in blocks:
            rows = [by_job[(job.task.id, job.tests_visible, job.attempt)] for job in block.jobs]
            scores.append(score(model, block.suite, block.setting, rows))
            times = [seconds[row.id] for row in rows]
            speeds.append(
                Speed(suite=block.suite, setting=block.setting, rollouts=len(rows), mean_seconds=mean(times))
            )
            write_predictions(folder / f"{block.suite}-{block.setting}", model, block.setting, rows)
        out.write("scores", scores, Score)
        out.write("speeds", speeds, Speed)


def shard_size(jobs: int, most: int) -> int:
    """The least size that needs no more shards than `most`: 97 jobs, at most 96 each, are 49 and 48, not 96 and 1."""
    return ceil(jobs / ceil(jobs / most))


def _work(
    config: EvaluateConfig, model: Model, tree: Callable[[Task], Tree], out: Output
) -> Callable[[Sequence[Job]], Mapping[str, Sequence[Record]]]:
    sandbox = make_sandbox(config.sandbox)

    def work(jobs: Sequence[Job]) -> Mapping[str, Sequence[Record]]:
        done = run_rollouts(
            jobs,
            model,
            config.scaffold,
            sandbox,
            tree,
            config.limits,
            concurrency=config.concurrency,
            workers=config.workers,
            on_done=lambda row: out.tick(),
        )
        pairs = [split_timing(row) for row in sorted(done, key=lambda row: row.id)]
        usage = [row.usage for row, _ in pairs]
        out.cost(
            prompt_tokens=sum(u.prompt_tokens for u in usage),
            completion_tokens=sum(u.completion_tokens for u in usage),
            dollars=sum(u.dollars for u in usage),
        )
        return {"trajectories": [row for row, _ in pairs], "timings": [timing for _, timing in pairs]}

    return work


def _blocks(config: EvaluateConfig, tasks: Sequence[Task], recipes: Mapping[str, Recipe]) -> list[_Block]:
    blocks = []
    for suite in config.suites:
        chosen = sorted(
            (task for task in tasks if task.split == suite), key=lambda task: _order(config.seed, task)
        )
        chosen = chosen[: config.max_tasks or None]
        for setting in config.settings:
            jobs = tuple(
                Job(task, recipes[task.repository_id], attempt, tests_visible=setting == "visible")
                for task in chosen
                for attempt in range(config.attempts)
            )
            if jobs:
                blocks.append(_Block(suite, setting, jobs))
    return blocks


def _order(seed: int, task: Task) -> str:
    return hashlib.sha256(f"{seed}\0{task.id}".encode()).hexdigest()


def _job_key(row: Trajectory) -> tuple[str, bool, int]:
    return row.task_id, row.tests_visible, row.attempt


def _filled(config: ModelConfig, dataset: Dataset, checkpoint: Checkpoint) -> ModelConfig:
    """A local model is the checkpoint under evaluation, named by its digest."""
    if isinstance(config, LocalConfig):
        return config.model_copy(
            update={"model": str(dataset.file("files/model")), "name": checkpoint.digest[:12]}
        )
    return config
