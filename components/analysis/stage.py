"""The `analyse` stage: two evaluations in; comparisons, diagnoses and the next mix out."""

from collections.abc import Mapping

from components.analysis.compare import compare
from components.analysis.config import AnalyseConfig
from components.analysis.mix import next_mix
from components.analysis.taxonomy import diagnose
from components.records.evaluation import Comparison, Diagnosis, MixWeight
from components.records.task import Task
from components.records.trajectory import Trajectory
from components.store.dataset import Dataset
from components.store.output import Output


class AnalyseStage:
    """Inputs `tasks`, `base`, `trained` (evaluations); tables `comparisons`, `diagnoses`, `mix`."""

    name = "analyse"
    version = 1

    def run(self, config: AnalyseConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Compare, classify, weigh."""
        tasks = {row.id: row for row in inputs["tasks"].rows("tasks", Task)}
        base = inputs["base"].rows("trajectories", Trajectory)
        trained = inputs["trained"].rows("trajectories", Trajectory)
        comparisons = []
        for suite in ("heldout", "heldout_repo"):
            for visible in (True, False):
                sides = [
                    [r for r in rows if tasks[r.task_id].split == suite and r.tests_visible == visible]
                    for rows in (base, trained)
                ]
                if all(sides):
                    comparisons.append(
                        compare(
                            sides[0],
                            sides[1],
                            suite=suite,
                            setting="visible" if visible else "hidden",
                            resamples=config.resamples,
                            seed=config.seed,
                        )
                    )
        diagnoses = [found for row in trained if (found := diagnose(row, tasks[row.task_id]))]
        visible_rows = [row for row in trained if row.tests_visible]
        out.write("comparisons", comparisons, Comparison)
        out.write("diagnoses", diagnoses, Diagnosis)
        out.write("mix", next_mix(tasks, visible_rows, floor=config.floor), MixWeight)
