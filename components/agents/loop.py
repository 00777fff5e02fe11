"""Many rollouts at once: tools in threads, the model in batches over all rollouts that wait for it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from components.agents.checks import Checks, LocalizationCache
from components.agents.config import AgentLimits, ScaffoldConfig
from components.agents.models.base import Model, ModelReply, ModelRequest
from components.agents.rollout import Job, Rollout
from components.agents.scaffold import scaffold_digest, tool_schemas
from components.agents.tools import ToolContext
from components.grading.grade import GradeCache, grade
from components.grading.submission import task_files
from components.records.errors import InfrastructureError
from components.records.task import Task
from components.records.trajectory import ExitStatus, Grade, Step, Trajectory, Usage
from components.sandbox.base import Sandbox, Session, Tree

TreeProvider = Callable[[Task], Tree]
"""Where the pristine tree and the environment of a task are."""


@dataclass
class _Run:
    """A job on its way through the loop."""

    order: int
    job: Job
    failures: int = 0
    model_failures: int = 0
    rollout: Rollout | None = None
    session: Session | None = None
    request: ModelRequest | None = None
    trouble: str = ""
    """Why the machine failed last."""


@dataclass
class _Setting:
    model: Model
    scaffold: ScaffoldConfig
    sandbox: Sandbox
    trees: TreeProvider
    limits: AgentLimits
    cache: LocalizationCache
    grades: GradeCache | None
    graded: bool


def run_rollouts(
    jobs: Sequence[Job],
    model: Model,
    scaffold: ScaffoldConfig,
    sandbox: Sandbox,
    tree_provider: TreeProvider,
    limits: AgentLimits | None = None,
    *,
    concurrency: int = 32,
    workers: int = 2,
    graded: bool = True,
    cache: LocalizationCache | None = None,
    grades: GradeCache | None = None,
    on_done: Callable[[Trajectory], None] | None = None,
) -> Iterator[Trajectory]:
    """Run jobs and yield their trajectories as they end.

    A rollout depends on its job and the model alone, not on which others run beside it (a local model's
    arithmetic may differ in the last bits between batches; `Model.lockstep` keeps batches the same).

    Args:
        jobs: What to run.
        model: Samples turns.
        scaffold: Tools and policies.
        sandbox: Where tools run.
        tree_provider: Pristine tree of a task.
        limits: Where rollouts end.
        concurrency: Rollouts, hence sandboxes, open at once.
        workers: Threads for tools and grading.
        graded: Grade each patch.
        cache: Localisations to share with other calls.
        grades: Verdicts known already, by patch and task.
        on_done: Called with each trajectory before it is yielded.
    """
    setting = _Setting(
        model=model,
        scaffold=scaffold,
        sandbox=sandbox,
        trees=tree_provider,
        limits=limits or AgentLimits(),
        cache=cache or LocalizationCache(),
        grades=grades,
        graded=graded,
    )
    model.begin()
    waiting = [_Run(order, job) for order, job in enumerate(jobs)][::-1]
    ready: list[_Run] = []
    queue: list[_Run] = []
    tools: dict[Future[Trajectory | None], _Run] = {}
    asked: dict[Future[list[ModelReply]], list[_Run]] = {}
    with (
        ThreadPoolExecutor(workers, thread_name_prefix="tools") as pool,
        ThreadPoolExecutor(model.parallel, thread_name_prefix="model") as models,
    ):
        try:
            while waiting or ready or queue or tools or asked:
                busy = len(ready) + len(queue) + len(tools) + sum(len(runs) for runs in asked.values())
                while waiting and busy < concurrency:
                    run = waiting.pop()
                    tools[pool.submit(_begin, run, setting)] = run
                    busy += 1
                if not model.lockstep or not (queue or tools or asked):
                    # In lockstep, a round: all rollouts, in the order of their jobs.
                    queue, ready = [*queue, *sorted(ready, key=lambda run: run.order)], []
                while queue and len(asked) < model.parallel:
                    batch, queue = queue[: model.max_batch], queue[model.max_batch :]
                    requests = [run.request for run in batch if run.request is not None]
                    asked[models.submit(model.generate, requests)] = batch
                pending: list[Future[Any]] = [*tools, *asked]
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    if future in asked:
                        for run, reply in _replies(future, asked.pop(future)):
                            tools[pool.submit(_advance, run, reply, setting)] = run
                        continue
                    run = tools.pop(future)
                    trajectory = future.result()
                    if trajectory is None:
                        ready.append(run)
                        continue
                    if on_done is not None:
                        on_done(trajectory)
                    yield trajectory
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            models.shutdown(wait=True, cancel_futures=True)
            for run in [*ready, *queue, *tools.values(), *(run for runs in asked.values() for run in runs)]:
                _close(run)


def _replies(
    future: Future[list[ModelReply]], runs: list[_Run]
) -> list[tuple[_Run, ModelReply | InfrastructureError]]:
    try:
        return list(zip(runs, future.result(), strict=True))
    except InfrastructureError as error:
        return [(run, error) for run in runs]


def _begin(run: _Run, setting: _Setting) -> Trajectory | None:
    """Open a fresh sandbox and ask for the first turn."""
    try:
        task = run.job.task
        tree = setting.trees(task)
        hidden = () if run.job.tests_visible else task.test_files
        # No .git at all in the agent's tree: no tool needs one, and no object can hold the fix.
        run.session = setting.sandbox.open(
            tree, files=task_files(task, tree), remove=hidden, limits=setting.limits.command
        )
        checks = Checks(
            run.session,
            task,
            run.job.recipe,
            seconds=setting.limits.test_seconds,
            formula=setting.scaffold.formula,
            companions=setting.scaffold.localize_tests,
            key=f"{tree.digest}\0{task.id}\0{task.bug_patch}",
            cache=setting.cache,
        )
        context = ToolContext(
            run.session, task, setting.scaffold, setting.limits, checks, run.job.tests_visible
        )
        run.rollout = Rollout(run.job, context, setting.scaffold, setting.limits)
        run.request = run.rollout.request()
    except InfrastructureError as error:
        return _machine_failed(run, setting, error)
    return None


def _advance(run: _Run, reply: ModelReply | InfrastructureError, setting: _Setting) -> Trajectory | None:
    """Carry out a turn; the trajectory if that was the last one."""
    if isinstance(reply, InfrastructureError):
        run.model_failures += 1
        if run.model_failures <= setting.limits.infrastructure_retries:
            return None  # the same turn is asked for again
        return _conclude(run, setting, ExitStatus.INFRASTRUCTURE, _patch(run), None)
    rollout = run.rollout
    if rollout is None:
        raise RuntimeError("a reply to a rollout that has not begun")
    try:
        rollout.take(reply)
        if rollout.status is None:
            run.request = rollout.request()
            return None
        patch = run.session.diff() if run.session is not None else ""
    except InfrastructureError as error:
        return _machine_failed(run, setting, error)
    _close(run)
    graded = _grade(run.job, patch, setting) if setting.graded else None
    status = ExitStatus.INFRASTRUCTURE if graded is not None and graded.infrastructure else rollout.status
    return _conclude(run, setting, status, patch, graded)


def _machine_failed(run: _Run, setting: _Setting, error: InfrastructureError) -> Trajectory | None:
    """Start afresh, or give up after too many tries."""
    run.failures += 1
    run.trouble = str(error)
    _close(run)
    if run.failures <= setting.limits.infrastructure_retries:
        return _begin(run, setting)
    return _conclude(run, setting, ExitStatus.INFRASTRUCTURE, "", None)


def _grade(job: Job, patch: str, setting: _Setting) -> Grade:
    tries = setting.limits.infrastructure_retries + 1
    trouble = ""
    for _ in range(tries):
        try:
            result = grade(
                patch, job.task, setting.trees(job.task), setting.sandbox, job.recipe, cache=setting.grades
            )
        except InfrastructureError as error:
            trouble = str(error)
            continue
        if not result.infrastructure:
            return result
        trouble = result.infrastructure
    return Grade(
        task_id=job.task.id,
        resolved=False,
        patch_applied=False,
        empty_patch=not patch,
        tests=(),
        fail_to_pass_rate=0.0,
        pass_to_pass_rate=0.0,
        reward=0.0,
        infrastructure=trouble,
    )


def _conclude(
    run: _Run, setting: _Setting, status: ExitStatus, patch: str, graded: Grade | None
) -> Trajectory:
    _close(run)
    job, scaffold = run.job, setting.scaffold
    steps: tuple[Step, ...] = tuple(run.rollout.steps) if run.rollout is not None else ()
    name = scaffold.name if job.tests_visible else f"{scaffold.name}-hidden"
    tools: list[JsonValue] = list(tool_schemas(scaffold))
    sampling: dict[str, JsonValue] = {
        "temperature": scaffold.temperature,
        "retry_temperature": scaffold.retry_temperature,
        "max_turn_tokens": setting.limits.max_turn_tokens,
        "max_turns": setting.limits.max_turns,
    }
    if run.trouble:
        sampling["machine_failed"] = run.trouble
    return Trajectory(
        id=f"{job.task.id}#{setting.model.name}.{name}.{job.attempt}",
        task_id=job.task.id,
        repository_id=job.task.repository_id,
        model=setting.model.name,
        demonstrator=setting.model.demonstrator,
        scaffold=name,
        scaffold_sha256=scaffold_digest(scaffold, setting.limits),
        attempt=job.attempt,
        tests_visible=job.tests_visible,
        tools=tools,
        sampling=sampling,
        steps=steps,
        exit_status=status,
        patch=patch,
        usage=_usage(run, graded),
        grade=graded,
    )


def _usage(run: _Run, graded: Grade | None) -> Usage:
    usage = run.rollout.usage if run.rollout is not None else Usage()
    return usage.model_copy(update={"seconds": usage.seconds + (graded.seconds if graded else 0.0)})


def _patch(run: _Run) -> str:
    try:
        return run.session.diff() if run.session is not None else ""
    except InfrastructureError:
        return ""


def _close(run: _Run) -> None:
    if run.session is not None:
        run.session.close()
        run.session = None
