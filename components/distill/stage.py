"""The `distill` stage: a teacher's rollouts on train tasks, graded."""

import hashlib
from collections.abc import Callable, Mapping, Sequence

from components.agents.loop import run_rollouts
from components.agents.models import Model, make_model
from components.agents.models.config import LocalConfig, ModelConfig, OpenAIConfig
from components.agents.rollout import Job
from components.distill.config import DistillConfig
from components.distill.keep import best
from components.grading.grade import GradeCache
from components.grading.submission import task_files
from components.records.base import Record
from components.records.errors import ConfigError, InputError
from components.records.repository import Environment, Recipe, Repository
from components.records.task import Task
from components.records.training import Checkpoint
from components.records.trajectory import ExitStatus, Timing, Trajectory, split_timing
from components.sandbox import make_sandbox
from components.sandbox.base import Tree
from components.sandbox.trees import tree_for
from components.store.dataset import Dataset
from components.store.output import Output

TABLES: dict[str, type[Record]] = {"trajectories": Trajectory, "timings": Timing}


class DistillStage:
    """Inputs `repositories`, `tasks` and perhaps `checkpoint`; tables `trajectories`, `timings`."""

    name = "distill"
    version = 4

    def run(self, config: DistillConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Roll out, grade, keep the best of each task."""
        if wrong := [split for split in config.splits if split != "train"]:
            raise ConfigError(
                "distill.splits", wrong[0], "train", "Nothing may be learnt from held-out tasks"
            )
        repositories = {row.id: row for row in inputs["repositories"].rows("repositories", Repository)}
        recipes = {
            row.repository_id: row.recipe for row in inputs["repositories"].rows("environments", Environment)
        }
        tasks = _chosen(config, inputs["tasks"].rows("tasks", Task), repositories)

        def tree(task: Task) -> Tree:
            repository = repositories[task.repository_id]
            return tree_for(out.workspace, repository.id, repository.tree_sha256, task.environment)

        model = make_model(
            _filled(config.model, inputs.get("checkpoint")),
            tasks=tasks,
            buggy=lambda task: task_files(task, tree(task)),
        )
        if isinstance(config.model, OpenAIConfig):
            out.nondeterministic("a served model")
        jobs = _jobs(config, tasks, recipes)
        # Setting by setting, and whole tasks: what a shard keeps of a task is what is kept of it.
        for setting in config.settings:
            out.batch_shards(
                TABLES,
                [job for job in jobs if job.tests_visible == (setting == "visible")],
                _work(config, model, tree, out),
                key=lambda job: job.key,
                shard_size=config.shard_tasks * config.attempts,
                desc=f"distill from {model.name}, {setting} tests",
            )


def _chosen(
    config: DistillConfig, tasks: Sequence[Task], repositories: Mapping[str, Repository]
) -> list[Task]:
    chosen = [
        task
        for task in tasks
        if task.split in config.splits and not repositories[task.repository_id].never_train
    ]
    if not chosen:
        raise InputError(f"no task in {', '.join(config.splits)}: nothing to learn from; synthesise more")
    chosen.sort(key=lambda task: hashlib.sha256(f"{config.seed}\0{task.id}".encode()).hexdigest())
    return chosen[: config.max_tasks or None]


def _jobs(config: DistillConfig, tasks: Sequence[Task], recipes: Mapping[str, Recipe]) -> list[Job]:
    return [
        Job(task, recipes[task.repository_id], attempt, tests_visible=setting == "visible")
        for task in tasks
        for setting in config.settings
        if setting == "visible" or _unit(config.seed, task) < config.hidden_share
        for attempt in range(config.attempts)
    ]


def _unit(seed: int, task: Task) -> float:
    """A number in [0, 1) of each task's own."""
    return int(hashlib.sha256(f"hidden\0{seed}\0{task.id}".encode()).hexdigest()[:8], 16) / 2**32


def _work(
    config: DistillConfig, model: Model, tree: Callable[[Task], Tree], out: Output
) -> Callable[[Sequence[Job]], Mapping[str, Sequence[Record]]]:
    sandbox = make_sandbox(config.sandbox)
    # Validation has graded every gold patch: a demonstration that ends in the same patch has its verdict.
    grades = GradeCache(out.workspace.cache / "grades")

    def work(jobs: Sequence[Job]) -> Mapping[str, Sequence[Record]]:
        done = list(
            run_rollouts(
                jobs,
                model,
                config.scaffold,
                sandbox,
                tree,
                config.limits,
                concurrency=config.concurrency,
                workers=config.workers,
                grades=grades,
                on_done=lambda row: out.tick(),
            )
        )
        for row in done:
            out.cost(
                prompt_tokens=row.usage.prompt_tokens,
                completion_tokens=row.usage.completion_tokens,
                dollars=row.usage.dollars,
            )
        sound = [row for row in done if row.exit_status is not ExitStatus.INFRASTRUCTURE]
        kept = best(sound, config.per_task)
        for reason, count in (
            ("infrastructure", len(done) - len(sound)),
            ("over_cap", len(sound) - len(kept)),
        ):
            if count:
                out.reject(reason, count)
        pairs = [split_timing(row) for row in kept]
        return {"trajectories": [row for row, _ in pairs], "timings": [timing for _, timing in pairs]}

    return work


def _filled(config: ModelConfig, dataset: Dataset | None) -> ModelConfig:
    """A local teacher without a name of its own is the checkpoint that the stage was given."""
    if isinstance(config, LocalConfig) and not config.model and dataset is not None:
        digest = dataset.rows("checkpoint", Checkpoint)[0].digest
        return config.model_copy(update={"model": str(dataset.file("files/model")), "name": digest[:12]})
    return config
