"""Unified diffs applied strictly: no fuzz and no offset. What a patch says is there has to be there."""

from collections.abc import Callable, Mapping, Sequence

from components.grading.unified import (
    FileChange,
    Hunk,
    PatchError,
    PatchFault,
    added_lines,
    parse_patch,
    safe_path,
)

__all__ = [
    "FileChange",
    "Hunk",
    "PatchError",
    "PatchFault",
    "added_lines",
    "apply_changes",
    "apply_patch",
    "parse_patch",
    "safe_path",
]


def apply_changes(
    changes: Sequence[FileChange], read: Callable[[str], bytes | None]
) -> dict[str, bytes | None]:
    """The files after the changes; None for those that are gone.

    Args:
        changes: From `parse_patch`.
        read: The bytes of a file before, None if there is none.

    Raises:
        PatchError: A file is not what the patch says it is.
    """
    out: dict[str, bytes | None] = {}
    for change in changes:
        before = None if change.old is None else read(change.old)
        if change.old is not None and before is None:
            raise PatchError("mismatch", f"{change.old}: to be changed, but not there")
        if change.new is not None and change.new != change.old and read(change.new) is not None:
            raise PatchError("mismatch", f"{change.new}: to be created, but there already")
        after = _apply_hunks(change, _decode(before or b""))
        if change.new is None:
            if after:
                raise PatchError(
                    "mismatch", f"{change.old}: to be deleted, but not all of it is in the patch"
                )
        else:
            out[change.new] = after.encode("utf-8", "surrogateescape")
        if change.old is not None and change.old != change.new and not change.copy:
            out[change.old] = None
    return out


def apply_patch(text: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """All files after a patch.

    Raises:
        PatchError: The patch is malformed or does not fit.
    """
    out = dict(files)
    for path, data in apply_changes(parse_patch(text), files.get).items():
        if data is None:
            out.pop(path)
        else:
            out[path] = data
    return out


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _apply_hunks(change: FileChange, text: str) -> str:
    lines = _keep_ends(text)
    out: list[str] = []
    at = 0
    for hunk in change.hunks:
        # A hunk that removes and keeps nothing is numbered by the line before it.
        start = hunk.old_start - 1 if any(sign != "+" for sign, _ in hunk.lines) else hunk.old_start
        if start < at or start > len(lines):
            raise PatchError("mismatch", f"{change.path}: no line {hunk.old_start} to change")
        out += lines[at:start]
        at = start
        for sign, line in hunk.lines:
            if sign != "+":
                if at >= len(lines) or lines[at] != line:
                    raise PatchError("mismatch", f"{change.path}: line {at + 1} is not what the patch says")
                at += 1
            if sign != "-":
                if out and not out[-1].endswith("\n"):
                    raise PatchError("malformed", f"{change.path}: lines after the end of the file")
                out.append(line)
    if at < len(lines) and out and not out[-1].endswith("\n"):
        raise PatchError("malformed", f"{change.path}: lines after the end of the file")
    return "".join(out + lines[at:])


def _keep_ends(text: str) -> list[str]:
    # Not str.splitlines, which also splits at form feeds, lone carriage returns and the like.
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
