"""The `curate` stage: accepted trajectories in, training rows out."""

from collections.abc import Mapping

from components.curate.config import CurateConfig
from components.curate.examples import example
from components.curate.mix import mix
from components.records.errors import InputError
from components.records.task import Task
from components.records.training import Example
from components.records.trajectory import Trajectory
from components.store.dataset import Dataset
from components.store.output import Output


class CurateStage:
    """Inputs `tasks` and `gates`; table `examples`, in the order to train in."""

    name = "curate"
    version = 1

    def run(self, config: CurateConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Make one example of every accepted trajectory, then cap and order them.

        Raises:
            InputError: a trajectory's task is not known or not for training, or no example is left.
        """
        tasks = {task.id: task for task in inputs["tasks"].rows("tasks", Task)}
        examples: list[Example] = []
        empty = 0
        for trajectory in inputs["gates"].rows("accepted", Trajectory):
            task = tasks.get(trajectory.task_id)
            if task is None:
                raise InputError(f"{trajectory.id}: its task {trajectory.task_id} is not among the tasks")
            if task.split != "train":
                raise InputError(f"{trajectory.id}: its task {task.id} is held out ({task.split})")
            row = example(trajectory, config)
            if row is None:
                empty += 1
            else:
                examples.append(row)
        kept, dropped = mix(examples, tasks, config)
        if not kept:
            raise InputError(f"curate: no example is left ({empty} trajectories have no turn to train on)")
        out.write("examples", kept, Example)
        for reason, count in {"nothing_to_train": empty, **dropped}.items():
            if count:
                out.reject(reason, count)
