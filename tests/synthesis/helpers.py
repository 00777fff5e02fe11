"""What the tests of synthesis share."""

import textwrap
from pathlib import Path

from components.records.task import Candidate, Rejection
from components.synthesis.candidates import apply, generate
from components.synthesis.procedural import REWRITERS
from components.synthesis.source import ParsedModule

REPOSITORY = "demo@1.0"


def rewritten(name: str, source: str) -> list[str]:
    """The texts that one rewriter makes of a source, unchecked, in the order of the file."""
    data = textwrap.dedent(source).encode()
    (rewriter,) = (rewriter for rewriter in REWRITERS if rewriter.name == name)
    edits = sorted(
        rewriter.spans(ParsedModule.parse("m.py", data)), key=lambda edit: (edit.start, edit.replacement)
    )
    return [edit.splice(data).decode() for edit in edits]


def lines(name: str, source: str) -> list[str]:
    """As `rewritten`, but only the first line of each text that differs from the source."""
    before = textwrap.dedent(source).splitlines()
    out = []
    for text in rewritten(name, source):
        after = text.splitlines()
        changed = [new for old, new in zip(before, after, strict=False) if old != new]
        out.append(changed[0].strip() if changed else "")
    return out


def candidates(source: str | bytes, max_lines: int | None = 1) -> tuple[list[Candidate], list[Rejection]]:
    """Candidates and rejections of a file `pkg/m.py`."""
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return generate(REPOSITORY, "pkg/m.py", data, max_lines=max_lines)


def mutants(data: bytes) -> dict[str, bytes]:
    """Id -> mutated file."""
    return {candidate.id: apply(data, candidate) for candidate in candidates(data)[0]}


def standard_library(name: str) -> bytes:
    """Real code that is on every machine."""
    import importlib.util

    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).read_bytes()
