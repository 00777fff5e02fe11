"""Backward: from a checkpoint to the licence of every repository that it learnt from."""

import time

from components.lineage.chain import Chain, aliases, follow, resolve, verify
from components.lineage.links import check_links
from components.lineage.policy import check_base, check_checkpoint, check_examples, check_gates, teachers
from components.lineage.report import AuditReport, Node
from components.records.training import Checkpoint
from components.store import Dataset, Store


def audit_checkpoint(store: Store, ref: str = "champion") -> AuditReport:
    """Follow, verify and join everything behind a checkpoint.

    Args:
        store: Where the datasets are; it is the truth, whatever a registry says.
        ref: `champion`, a pointer, or the start of a dataset's or a checkpoint's digest.

    Raises:
        InputError: `ref` stands for nothing.
        CorruptionError: What `ref` stands for cannot be read at all.
    """
    clock = time.perf_counter()
    start = resolve(store, ref)
    chain = follow(store, start)
    files, size = verify(store, chain)
    links = check_links(chain)
    check_checkpoint(chain)
    check_base(chain)
    verdicts = check_gates(chain)
    sources = check_examples(chain)
    rows = start.rows("checkpoint", Checkpoint) if chain.readable(start, "checkpoint") else []
    return AuditReport(
        ref=ref,
        dataset=start.digest,
        aliases=tuple(aliases(store).get(start.digest, ())),
        checkpoint=rows[0] if rows else None,
        nodes=tuple(_node(dataset, chain) for dataset in chain.datasets.values()),
        links=tuple(links),
        sources=tuple(sources),
        teachers=teachers(chain),
        verdicts=tuple(verdicts),
        problems=tuple(chain.problems),
        files=files,
        bytes=size,
        seconds=time.perf_counter() - clock,
    )


def _node(dataset: Dataset, chain: Chain) -> Node:
    manifest = dataset.manifest
    page = "evidence/data_docs/index.html"
    has_page = any(file.path == page for file in manifest.files)
    whole = has_page and (dataset.digest, page) not in chain.corrupt
    return Node(
        stage=manifest.stage,
        digest=dataset.digest,
        key=manifest.key,
        inputs=manifest.inputs,
        rows=manifest.rows,
        rejected=manifest.rejected,
        files=len(manifest.files),
        bytes=sum(file.bytes for file in manifest.files),
        config=manifest.config,
        code_version=manifest.code_version,
        code_commit=manifest.code_commit,
        dirty=manifest.dirty,
        lock_sha256=manifest.lock_sha256,
        machine=manifest.machine,
        started=manifest.started,
        ended=manifest.ended,
        cost=manifest.cost,
        deterministic=manifest.deterministic,
        why=manifest.why,
        followed=not chain.ends_at(dataset.digest),
        data_docs=str(dataset.file(page)) if whole else "",
    )
