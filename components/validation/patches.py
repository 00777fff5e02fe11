"""Reading and turning round bug patches: edits of text files that stay where they are."""

from components.grading.patching import FileChange, Hunk, parse_patch
from components.records.errors import InputError


def edits(patch: str) -> list[FileChange]:
    """The changes of a patch.

    Raises:
        InputError: It is malformed, or creates, deletes or moves a file.
    """
    changes = parse_patch(patch)
    for change in changes:
        if change.old != change.new:
            raise InputError(
                f"{change.path}: a bug patch edits files, it does not create, delete or move them"
            )
    return changes


def changed_lines(patch: str) -> dict[str, tuple[int, ...]]:
    """Path -> lines of the old file that a patch touches; for an insertion the lines around it."""
    found: dict[str, tuple[int, ...]] = {}
    for change in edits(patch):
        lines: set[int] = set()
        for hunk in change.hunks:
            old = any(sign != "+" for sign, _ in hunk.lines)
            at = hunk.old_start if old else hunk.old_start + 1
            previous = " "
            for sign, _ in hunk.lines:
                if sign == "-":
                    lines.add(at)
                elif sign == "+" and previous == " ":
                    lines |= {max(1, at - 1), at}
                previous = sign
                at += sign != "+"
        found[change.path] = tuple(sorted(lines))
    return found


def reverse(patch: str) -> str:
    """The patch that undoes a patch."""
    out = []
    for change in edits(patch):
        path = change.path
        out.append(f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n")
        out += [_reversed(hunk) for hunk in change.hunks]
    return "".join(out)


def _reversed(hunk: Hunk) -> str:
    turned = {"-": "+", "+": "-", " ": " "}
    lines: list[str] = []
    block: list[tuple[str, str]] = []
    for sign, text in (*hunk.lines, (" ", "")):
        if sign != " ":
            block.append((turned[sign], text))
            continue
        for removed in (*(b for b in block if b[0] == "-"), *(b for b in block if b[0] == "+")):
            lines.append(_line(*removed))
        block = []
        lines.append(_line(sign, text) if text else "")
    sizes = [sum(sign != skip for sign, _ in hunk.lines) for skip in "-+"]
    return f"@@ -{hunk.new_start},{sizes[0]} +{hunk.old_start},{sizes[1]} @@\n" + "".join(lines)


def _line(sign: str, text: str) -> str:
    return sign + (text if text.endswith("\n") else text + "\n\\ No newline at end of file\n")
