"""From one file to its candidates: propose edits, choose among them elsewhere, check the chosen ones."""

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from components.records.task import Candidate, Rejection, RejectReason
from components.synthesis.diff import Hunk, Lines
from components.synthesis.edit import Edit
from components.synthesis.equivalence import EquivalenceFilter, quiet, text_digest
from components.synthesis.procedural import REWRITERS, STRATEGY, Rewriter
from components.synthesis.source import ParsedModule


class Proposal(NamedTuple):
    """An edit with its name and the lines it changes."""

    id: str
    strategy: str
    edit: Edit
    hunk: Hunk


class Proposals(NamedTuple):
    """Everything that the rewriters find in one file, in the order of the file."""

    module: ParsedModule
    lines: Lines
    kept: list[Proposal]
    duplicates: list[Rejection]


def propose(
    repository_id: str,
    module: ParsedModule,
    *,
    rewriters: Sequence[Rewriter] = REWRITERS,
    max_lines: int | None = 1,
) -> Proposals:
    """All edits of a file that change at most `max_lines` lines, each resulting text once."""
    lines = Lines(module.data)
    found: list[tuple[int, int, int, str, Edit]] = []
    for rank, rewriter in enumerate(rewriters):
        found.extend((edit.start, edit.end, rank, edit.replacement, edit) for edit in rewriter.spans(module))
    found.sort(key=lambda item: item[:4])
    kept: list[Proposal] = []
    duplicates: list[Rejection] = []
    seen: dict[bytes, str] = {}
    ids: set[str] = set()
    for _, _, rank, _, edit in found:
        hunk = lines.hunk(edit.start, edit.end, edit.replacement.encode())
        if max_lines is not None and hunk.size > max_lines:
            continue
        strategy = f"{STRATEGY}.{rewriters[rank].name}"
        name = f"{repository_id}/{strategy}/{_digest(module.path, edit)}"
        first = seen.setdefault(text_digest(module, edit), name)
        if first != name or name in ids:
            duplicates.append(
                Rejection(candidate_id=name, reason=RejectReason.DUPLICATE, detail=f"same text as {first}")
            )
            continue
        ids.add(name)
        kept.append(Proposal(name, strategy, edit, hunk))
    return Proposals(module, lines, kept, duplicates)


def check(
    repository_id: str, proposals: Proposals, chosen: Collection[str] | None = None
) -> tuple[list[Candidate], list[Rejection]]:
    """The candidates among the chosen proposals (all when None), and the refused ones with their reason."""
    judge = EquivalenceFilter(proposals.module)
    candidates: list[Candidate] = []
    rejected = list(proposals.duplicates)
    with quiet():
        for proposal in proposals.kept:
            if chosen is not None and proposal.id not in chosen:
                continue
            refusal = judge.refuse(proposal.edit)
            if refusal is None:
                candidates.append(_candidate(repository_id, proposals, proposal))
            else:
                rejected.append(
                    Rejection(candidate_id=proposal.id, reason=refusal.reason, detail=refusal.detail)
                )
    return candidates, rejected


def apply(data: bytes, candidate: Candidate) -> bytes:
    """The file that a candidate makes of a pristine one."""
    return data[: candidate.start] + candidate.replacement.encode() + data[candidate.end :]


def generate(
    repository_id: str,
    path: str,
    data: bytes,
    rewriters: Iterable[Rewriter] = REWRITERS,
    max_lines: int | None = 1,
) -> tuple[list[Candidate], list[Rejection]]:
    """All candidates of one file, with no choice among them."""
    module = ParsedModule.parse(path, data)
    return check(
        repository_id, propose(repository_id, module, rewriters=tuple(rewriters), max_lines=max_lines)
    )


def _digest(path: str, edit: Edit) -> str:
    text = f"{path}\0{edit.start}\0{edit.end}\0{edit.replacement}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _candidate(repository_id: str, proposals: Proposals, proposal: Proposal) -> Candidate:
    edit, hunk, path = proposal.edit, proposal.hunk, proposals.module.path
    return Candidate(
        id=proposal.id,
        repository_id=repository_id,
        strategy=proposal.strategy,
        path=path,
        function=edit.function.qualname,
        line=hunk.first + 1,
        start=edit.start,
        end=edit.end,
        replacement=edit.replacement,
        bug_patch=proposals.lines.patch(path, hunk),
    )
