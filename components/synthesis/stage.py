"""The synthesis stage: repositories in, candidate bugs out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from components.records.base import Record
from components.records.errors import ConfigError
from components.records.evaluation import MixWeight
from components.records.repository import Environment, Repository
from components.records.task import Candidate, Rejection, RejectReason
from components.sandbox.trees import tree_for
from components.store import Dataset, Output, reject
from components.synthesis.candidates import check, propose
from components.synthesis.config import SynthesisConfig
from components.synthesis.coverage import CoveredLines
from components.synthesis.files import source_files
from components.synthesis.procedural import REWRITERS, STRATEGY, Rewriter
from components.synthesis.selection import Ticket, plan, select
from components.synthesis.source import ParsedModule, UnreadableSourceError


class Work(NamedTuple):
    """One file, and which of its proposals were chosen."""

    repository_id: str
    root: Path
    path: str
    chosen: frozenset[str]


@dataclass(frozen=True)
class SynthesisStage:
    """Inputs: `repositories`, and `mix` (the previous iteration's analysis) where there is one."""

    name: str = "synthesis"
    version: int = 2

    def run(self, config: SynthesisConfig, inputs: Mapping[str, Dataset], out: Output) -> None:
        """Write `candidates` and `rejected`.

        First a look at every file decides which proposals get a place; then the files are worked on in
        parallel, and only chosen proposals are checked.
        """
        rewriters = chosen_rewriters(config)
        repositories = inputs["repositories"].rows("repositories", Repository)
        recipes = {row.digest: row.recipe for row in inputs["repositories"].rows("environments", Environment)}
        coverage = inputs["repositories"].table("coverage")
        mix = inputs["mix"].rows("mix", MixWeight) if "mix" in inputs else []
        plans = plan(
            [repository.id for repository in repositories],
            [f"{STRATEGY}.{rewriter.name}" for rewriter in rewriters],
            max_candidates=config.max_candidates,
            weights={f"{STRATEGY}.{name}": weight for name, weight in config.weights.items()},
            mix=mix,
        )
        items: list[Work] = []
        for repository in repositories:
            tree = tree_for(out.workspace, repository.id, repository.tree_sha256, repository.environment)
            files = list(source_files(tree.repo, recipes[repository.environment], config.exclude))
            budget, weights = plans[repository.id]
            covered = CoveredLines(coverage, repository.id) if config.covered_only else None
            found = list(tickets(repository.id, tree.repo, files, rewriters, config.max_lines, covered))
            chosen = select(
                found,
                seed=config.seed,
                budget=budget,
                max_per_function=config.max_per_function,
                weights=weights,
            )
            by_file: dict[str, set[str]] = {path: set() for path in files}
            for ticket in found:
                if ticket.id in chosen:
                    by_file[ticket.path].add(ticket.id)
            items.extend(Work(repository.id, tree.repo, path, frozenset(by_file[path])) for path in files)
        out.shards(
            {"candidates": Candidate, "rejected": Rejection},
            items,
            partial(work_on, rewriters=rewriters, max_lines=config.max_lines),
            key=lambda item: f"{item.repository_id}/{item.path}",
            workers=config.workers,
            desc="synthesis",
        )


def chosen_rewriters(config: SynthesisConfig) -> tuple[Rewriter, ...]:
    """The rewriters that a config names.

    Raises:
        ConfigError: A name is unknown, a weight negative, or all weights zero.
    """
    names = [rewriter.name for rewriter in REWRITERS]
    for key, given in (("rewriters", config.rewriters), ("weights", tuple(config.weights))):
        for name in given:
            if name not in names:
                raise ConfigError(f"synthesis.{key}", name, names)
    for name, weight in config.weights.items():
        if not 0 <= weight < float("inf"):
            raise ConfigError(f"synthesis.weights.{name}", weight, "a number from 0")
    kept = tuple(
        rewriter
        for rewriter in REWRITERS
        if (not config.rewriters or rewriter.name in config.rewriters)
        and config.weights.get(rewriter.name, 1.0) > 0
    )
    if not kept:
        raise ConfigError("synthesis.weights", config.weights, "at least one rewriter with a weight above 0")
    return kept


def tickets(
    repository_id: str,
    root: Path,
    paths: Sequence[str],
    rewriters: Sequence[Rewriter],
    max_lines: int,
    covered: CoveredLines | None = None,
) -> Iterator[Ticket]:
    """What may be chosen in a repository. A file that cannot be read has nothing to offer."""
    for path in paths:
        try:
            module = ParsedModule.parse(path, (root / path).read_bytes())
        except UnreadableSourceError:
            continue  # `work_on` records it
        for proposal in propose(repository_id, module, rewriters=rewriters, max_lines=max_lines).kept:
            if covered is None or covered.touches(path, proposal.hunk):
                yield Ticket(proposal.id, proposal.strategy, path, proposal.edit.function.qualname)


def work_on(item: Work, *, rewriters: Sequence[Rewriter], max_lines: int) -> Mapping[str, Sequence[Record]]:
    """Candidates and rejections of one file."""
    try:
        module = ParsedModule.parse(item.path, (item.root / item.path).read_bytes())
    except UnreadableSourceError as error:
        name = f"{item.repository_id}/{STRATEGY}/{item.path}"
        candidates: list[Candidate] = []
        rejected = [Rejection(candidate_id=name, reason=RejectReason.SYNTAX, detail=str(error))]
    else:
        proposals = propose(item.repository_id, module, rewriters=rewriters, max_lines=max_lines)
        candidates, rejected = check(item.repository_id, proposals, item.chosen)
    for row in rejected:
        reject(row.reason)
    return {"candidates": candidates, "rejected": rejected}
