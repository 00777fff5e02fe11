"""The `gates` stage: which trajectories may be learnt from.

Three suites in turn, so that each looks at what the one before let through: all trajectories; the rows
that passed, for duplicates (the representative of a cluster must itself be acceptable); the accepted rows
as a whole.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from components.gates.config import GatesConfig
from components.gates.dedup import representatives
from components.gates.features import Feature, features, text_of
from components.gates.overlap import contaminated, split_violations
from components.gates.suite import (
    Finding,
    Gate,
    Validator,
    accepted_gates,
    duplicate_gates,
    trajectory_gates,
)
from components.gates.verdict import check_names, enforce, judge, quarantine
from components.records.errors import InputError
from components.records.quality import Quarantined, Verdict
from components.records.repository import Repository
from components.records.task import Task
from components.records.trajectory import Trajectory
from components.store.dataset import Dataset
from components.store.output import Output

if TYPE_CHECKING:
    import pandas as pd

SPLIT_GATE = Gate(
    "split",
    "block",
    "dataset",
    "Python",
    why="Nothing is on both sides of the split.",
)


class GatesStage:
    """Inputs `repositories`, `tasks`, `trajectories`; tables accepted, quarantine, verdicts, features."""

    name = "gates"
    version = 1

    def run(self, config: GatesConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Judge every trajectory.

        Raises:
            InputError: a gate on the whole dataset failed, or an expectation could not be evaluated.
        """
        gates = (SPLIT_GATE, *trajectory_gates(config), *duplicate_gates(), *accepted_gates(config))
        check_names(config, {gate.name: gate for gate in gates})
        repositories = {row.id: row for row in inputs["repositories"].rows("repositories", Repository)}
        tasks = inputs["tasks"].rows("tasks", Task)
        trajectories = sorted(inputs["trajectories"].rows("trajectories", Trajectory), key=lambda row: row.id)
        if not trajectories:
            raise InputError("gates: the trajectories dataset has no rows")

        never = [row.id for row in repositories.values() if row.never_train]
        finding = _split_finding(tasks, never)
        findings, verdicts = [finding], judge([finding], config)
        enforce(verdicts, findings, f"tasks dataset {inputs['tasks'].digest[:12]}")
        rows = features(
            trajectories,
            {task.id: task for task in tasks},
            repositories,
            allowed_licences=config.permissive,
            overlaps=contaminated(tasks, config.overlap),
        )

        site = out.folder("data_docs", evidence=True)
        reasons: dict[str, tuple[str, ...]] = {}

        with Validator(site) as validator:

            def apply(suite: str, gates: Sequence[Gate], frame: "pd.DataFrame") -> None:
                found = validator.run(suite, frame, gates)
                judged = judge(found, config)
                findings.extend(found)
                verdicts.extend(judged)
                reasons.update(quarantine(judged, found))

            apply("trajectories", trajectory_gates(config), _frame(rows))
            texts = {row.id: text_of(row) for row in trajectories if row.id not in reasons}
            rows = _with_duplicates(rows, texts, config)
            apply("duplicates", duplicate_gates(), _frame([row for row in rows if row.id in texts]))
            accepted = [row for row in rows if row.id not in reasons]
            apply("accepted", accepted_gates(config), _frame(accepted))
        enforce(verdicts, findings, str(site / "index.html"))

        kept = {row.id for row in accepted}
        out.write("accepted", [row for row in trajectories if row.id in kept], Trajectory)
        out.write("quarantine", _quarantined(rows, reasons), Quarantined)
        out.write("verdicts", verdicts, Verdict)
        out.write("features", rows, Feature)
        for reason, count in sorted(Counter(gates[0] for gates in reasons.values()).items()):
            out.reject(reason, count)


def _split_finding(tasks: Sequence[Task], never_train: Sequence[str]) -> Finding:
    violations = split_violations(tasks, never_train)
    if not violations:
        return Finding(SPLIT_GATE, "tasks", "pass", len(tasks))
    first = min(violations)
    detail = f"{first} shares {', '.join(violations[first])} with a held-out task"
    return Finding(SPLIT_GATE, "tasks", "fail", len(tasks), tuple(sorted(violations)), detail)


def _with_duplicates(rows: list[Feature], texts: Mapping[str, str], config: GatesConfig) -> list[Feature]:
    by_id = {row.id: row for row in rows}

    def rank(row_id: str) -> tuple[bool, int, int, str]:
        row = by_id[row_id]
        tie = hashlib.sha256(f"{config.seed}:{row_id}".encode()).hexdigest()
        return not row.resolved, row.n_failed_calls, row.n_steps, tie

    stands = representatives(
        texts,
        rank=rank,
        threshold=config.dedup.threshold,
        shingle=config.dedup.shingle,
        permutations=config.dedup.permutations,
    )
    return [row.model_copy(update={"duplicate_of": stands.get(row.id, "")}) for row in rows]


def _frame(rows: Sequence[Feature]) -> "pd.DataFrame":
    """The features and what the suites need beside them."""
    import pandas as pd

    repositories = Counter(row.repository for row in rows)
    records = [
        {
            **row.model_dump(),
            "resolved_share": float(row.resolved),
            "representative": row.duplicate_of == row.id,
            "repository_share": repositories[row.repository] / len(rows),
        }
        for row in rows
    ]
    extra = ["resolved_share", "representative", "repository_share"]
    return pd.DataFrame(records, columns=[*Feature.model_fields, *extra])


def _quarantined(rows: Sequence[Feature], reasons: Mapping[str, tuple[str, ...]]) -> list[Quarantined]:
    return [
        Quarantined(row_id=row.id, parent_id=row.task_id, reasons=reasons[row.id])
        for row in rows
        if row.id in reasons
    ]
