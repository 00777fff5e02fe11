"""A checkpoint folder and its record."""

import hashlib
from pathlib import Path

from pydantic import JsonValue

from components.records.errors import InputError
from components.records.training import Checkpoint, FileDigest


def describe(
    folder: Path,
    *,
    base_model: str,
    recipe: str,
    datasets: tuple[str, ...] = (),
    examples: int = 0,
    steps: int = 0,
    tokens: int = 0,
    final_loss: float = 0.0,
    config: JsonValue = None,
) -> Checkpoint:
    """The record of a checkpoint folder: every file by sha256, one digest over all.

    Raises:
        InputError: the folder holds no weights.
    """
    files = tuple(
        FileDigest(path=path.relative_to(folder).as_posix(), sha256=_sha256(path), bytes=path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )
    if not any(file.path.endswith(".safetensors") for file in files):
        raise InputError(f"{folder}: no .safetensors file; this is not a checkpoint")
    joined = "".join(f"{file.path}\0{file.sha256}\n" for file in files)
    return Checkpoint(
        digest=hashlib.sha256(joined.encode()).hexdigest(),
        base_model=base_model,
        recipe=recipe,
        files=files,
        datasets=datasets,
        chat_template_sha256=_template(folder),
        examples=examples,
        steps=steps,
        tokens=tokens,
        final_loss=final_loss,
        config=config,
    )


def _template(folder: Path) -> str:
    path = folder / "chat_template.jinja"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
