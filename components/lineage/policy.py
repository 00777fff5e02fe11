"""Rules that rows on the chain must keep, checked again by the auditor and not taken on trust."""

import hashlib
from collections import Counter

from components.lineage.chain import Chain, ids
from components.lineage.report import Problem, SourceUse
from components.records.quality import Verdict
from components.records.repository import Repository
from components.records.training import Checkpoint
from components.store import Dataset


def check_checkpoint(chain: Chain) -> None:
    """Every checkpoint is made of the files beside it, and of the datasets that its run was given."""
    for dataset in chain.datasets.values():
        if not chain.readable(dataset, "checkpoint"):
            continue
        prefix = "files/model/"
        stored = {
            file.path.removeprefix(prefix): file.sha256
            for file in dataset.manifest.files
            if file.path.startswith(prefix)
        }
        for row in dataset.rows("checkpoint", Checkpoint):
            where = f"checkpoint {row.digest[:12]}"
            if {file.path: file.sha256 for file in row.files} != stored:
                _say(chain, where, "its files are not those of its dataset")
            joined = "".join(f"{file.path}\0{file.sha256}\n" for file in row.files)
            if hashlib.sha256(joined.encode()).hexdigest() != row.digest:
                _say(chain, where, "its digest is not that of its files")
            if strangers := set(row.datasets) - set(dataset.manifest.inputs.values()):
                _say(chain, where, f"it names dataset {min(strangers)[:12]}, which its run was not given")


def check_base(chain: Chain) -> None:
    """A checkpoint that was trained from another one names the one that its run was given."""
    for dataset in chain.datasets.values():
        base = chain.datasets.get(dataset.manifest.inputs.get("base", ""))
        if base is None or not (chain.readable(dataset, "checkpoint") and chain.readable(base, "checkpoint")):
            continue
        known = set(ids(base, "checkpoint", "digest"))
        for row in dataset.rows("checkpoint", Checkpoint):
            if row.base_model not in known:
                _say(
                    chain,
                    f"checkpoint {row.digest[:12]}",
                    f"its base model {row.base_model} was not its input",
                )


def check_gates(chain: Chain) -> list[Verdict]:
    """No gate errored, and no row that a gate refused, or that no gate looked at, was accepted."""
    out: list[Verdict] = []
    for dataset in chain.datasets.values():
        if not all(chain.readable(dataset, table) for table in ("accepted", "quarantine", "verdicts")):
            continue
        where = f"gates {dataset.digest[:12]}"
        accepted = set(ids(dataset, "accepted", "id"))
        quarantined = set(ids(dataset, "quarantine", "row_id"))
        verdicts = dataset.rows("verdicts", Verdict)
        out += verdicts
        for verdict in verdicts:
            if verdict.outcome == "error":
                _say(chain, where, f"{verdict.gate} could not be evaluated: {verdict.detail}")
            refused = verdict.outcome == "fail" and verdict.severity == "block" and not verdict.waiver
            if refused and (let_in := accepted & set(verdict.offending)):
                _say(chain, where, f"{verdict.gate} refused {min(let_in)}, which was accepted all the same")
        if both := accepted & quarantined:
            _say(chain, where, f"{min(both)} is both accepted and in quarantine")
        source = chain.nearest(dataset.digest, "trajectories")
        if source is not None and chain.readable(source, "trajectories"):
            looked_at = set(ids(source, "trajectories", "id"))
            if lost := looked_at - accepted - quarantined:
                _say(chain, where, f"{min(lost)} is neither accepted nor in quarantine")
    return out


def check_examples(chain: Chain) -> list[SourceUse]:
    """Nothing held out was learnt from, and every repository that was has a recorded licence."""
    tasks: Counter[str] = Counter()
    trajectories: Counter[str] = Counter()
    examples: Counter[str] = Counter()
    known: dict[str, Repository] = {}
    for dataset in chain.datasets.values():
        if chain.readable(dataset, "repositories"):
            known.update({row.id: row for row in dataset.rows("repositories", Repository)})
        if chain.readable(dataset, "accepted"):
            trajectories.update(ids(dataset, "accepted", "repository_id"))
        if chain.readable(dataset, "examples"):
            read = dataset.columns("examples", ["repository_id", "task_id"]).to_pylist()
            examples.update(row["repository_id"] for row in read)
            used = {row["task_id"] for row in read}
            tasks.update(_repositories(read))
            _check_split(chain, dataset, used)
    for repository in sorted(examples):
        record = known.get(repository)
        if record is None:
            continue  # already a broken link
        if record.never_train:
            _say(chain, repository, "it may never be trained on, and examples were made of it")
        if record.licence.spdx in ("", "NOASSERTION") or not record.licence.evidence_sha256:
            _say(chain, repository, f"{examples[repository]} examples, and no licence with evidence")
    return [
        SourceUse(
            repository=known[name],
            tasks=tasks[name],
            trajectories=trajectories[name],
            examples=examples[name],
        )
        for name in sorted(known)
    ]


def _repositories(rows: list[dict[str, str]]) -> Counter[str]:
    return Counter(repository for _, repository in {(row["task_id"], row["repository_id"]) for row in rows})


def _check_split(chain: Chain, examples: Dataset, used: set[str]) -> None:
    source = chain.nearest(examples.digest, "tasks")
    if source is None or not chain.readable(source, "tasks"):
        return
    read = source.columns("tasks", ["id", "split"])
    split = dict(zip(read["id"].to_pylist(), read["split"].to_pylist(), strict=True))
    held = sorted(row for row in used if split.get(row, "train") != "train")
    if held:
        where = f"examples {examples.digest[:12]}"
        _say(chain, where, f"{len(held)} held-out tasks were learnt from, e.g. {held[0]}")


def teachers(chain: Chain) -> dict[str, int]:
    """Who acted in the accepted trajectories."""
    counts: Counter[str] = Counter()
    for dataset in chain.datasets.values():
        if chain.readable(dataset, "accepted"):
            counts.update(ids(dataset, "accepted", "model"))
    return dict(sorted(counts.items()))


def _say(chain: Chain, where: str, detail: str) -> None:
    chain.problems.append(Problem(kind="policy", where=where, detail=f"{where}: {detail}"))
