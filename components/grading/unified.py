"""Unified diffs, read strictly: what they say they change, and no path outside the repository.

Text is handled byte for byte (undecodable bytes survive as surrogates), so line ends and a missing newline
at the end of a file stay as they are.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from components.records.errors import InputError

PatchFault = Literal["malformed", "path_escape", "special_file", "binary", "mismatch"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_HEADERS = (
    "index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ",
    "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ",
)  # fmt: skip
_REGULAR = ("100644", "100755")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


class PatchError(InputError):
    """A patch that is not applied, and what kind of fault it has."""

    def __init__(self, fault: PatchFault, message: str) -> None:
        self.fault: PatchFault = fault
        super().__init__(message)


@dataclass(frozen=True)
class Hunk:
    """One run of changed lines. Lines keep their newline, and lack it where the file does."""

    old_start: int
    new_start: int
    lines: tuple[tuple[str, str], ...]
    """(` `, `-` or `+`, text)."""


@dataclass(frozen=True)
class FileChange:
    """What a patch does to one file."""

    old: str | None
    """Path before; None: the file is new."""
    new: str | None
    """Path after; None: the file is deleted."""
    hunks: tuple[Hunk, ...] = ()
    copy: bool = False
    """True: the old file stays."""

    @property
    def path(self) -> str:
        """The name to call it by."""
        return self.new or self.old or ""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path it touches."""
        return tuple(dict.fromkeys(path for path in (self.old, self.new) if path))


def safe_path(path: str) -> str:
    """A path inside the repository and outside `.git`.

    Raises:
        PatchError: It is not.
    """
    parts = path.split("/")
    if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise PatchError("path_escape", f"{path!r}: only plain paths inside the repository can be patched")
    if any(part.lower() == ".git" for part in parts):
        raise PatchError("path_escape", f"{path!r}: git's own files cannot be patched")
    return path


def parse_patch(text: str) -> list[FileChange]:
    """The changes of a patch, in order.

    Raises:
        PatchError: It is no well-formed patch of text files inside the repository.
    """
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    changes = list(_Parser(lines).changes())
    seen: set[str] = set()
    for change in changes:
        for path in change.paths:
            if path in seen and not (change.copy and path == change.old):
                raise PatchError("malformed", f"{path}: changed twice in one patch")
            seen.add(path)
    if not changes and text.strip():
        raise PatchError("malformed", "the text holds no change of any file")
    return changes


def added_lines(change: FileChange) -> set[int]:
    """Numbers, in the new file, of the lines that a change adds."""
    out = set()
    for hunk in change.hunks:
        number = hunk.new_start
        for sign, _ in hunk.lines:
            if sign == "+":
                out.add(number)
            number += sign != "-"
    return out


class _Parser:
    """One pass over the lines of a patch."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def peek(self, prefix: str) -> bool:
        return self.at < len(self.lines) and self.lines[self.at].startswith(prefix)

    def take(self) -> str:
        if self.at >= len(self.lines):
            raise PatchError("malformed", "the patch ends in the middle")
        self.at += 1
        return self.lines[self.at - 1]

    def changes(self) -> Iterator[FileChange]:
        while self.at < len(self.lines):
            if self.peek("diff --git "):
                yield self.git_change()
            elif self.peek("--- "):
                old, new = self.names()
                if old is not None and new is not None and old != new:
                    raise PatchError("malformed", f"{old} becomes {new} without a rename header")
                yield _checked(old, new, self.hunks(), copy=False)
            elif not self.lines[self.at].strip():
                self.at += 1
            else:
                raise PatchError(
                    "malformed", f"line {self.at + 1} belongs to no file: {self.lines[self.at][:80]!r}"
                )

    def git_change(self) -> FileChange:
        title = self.take().removeprefix("diff --git ")
        extended: dict[str, str] = {}
        while self.at < len(self.lines) and self.lines[self.at].startswith(_HEADERS):
            line = self.take()
            key = next(header for header in _HEADERS if line.startswith(header))
            extended[key.strip()] = line[len(key) :]
        for key in ("old mode", "new mode", "new file mode", "deleted file mode"):
            if extended.get(key, _REGULAR[0]).strip() not in _REGULAR:
                raise PatchError("special_file", f"{title}: mode {extended[key]} is no regular file")
        if extended.get("index", "").endswith((" 120000", " 160000")):
            raise PatchError("special_file", f"{title}: links and submodules cannot be patched")
        if self.peek("GIT binary patch") or self.peek("Binary files "):
            raise PatchError("binary", f"{title}: binary files cannot be patched")
        if self.peek("--- "):
            old, new = self.names()
            hunks = self.hunks()
        else:
            old, new = _title_names(title, extended)
            hunks = ()
        moved = ("rename from" in extended, "copy from" in extended)
        if any(moved):
            verb = "rename" if moved[0] else "copy"
            old, new = _unquote(extended[f"{verb} from"]), _unquote(extended.get(f"{verb} to", ""))
        elif old is not None and new is not None and old != new:
            raise PatchError("malformed", f"{old} becomes {new} without a rename header")
        if ("new file mode" in extended) != (old is None) or ("deleted file mode" in extended) != (
            new is None
        ):
            raise PatchError("malformed", f"{title}: the header and the names contradict each other")
        return _checked(old, new, hunks, copy=moved[1])

    def names(self) -> tuple[str | None, str | None]:
        old = _name(self.take().removeprefix("--- "), "a/")
        if not self.peek("+++ "):
            raise PatchError("malformed", f"line {self.at + 1}: `+++` expected after `---`")
        return old, _name(self.take().removeprefix("+++ "), "b/")

    def hunks(self) -> tuple[Hunk, ...]:
        out = []
        while self.peek("@@ "):
            out.append(self.hunk())
        if not out:
            raise PatchError("malformed", f"line {self.at + 1}: a file without any hunk")
        return tuple(out)

    def hunk(self) -> Hunk:
        head = self.take()
        match = _HUNK.match(head)
        if match is None:
            raise PatchError("malformed", f"line {self.at}: bad hunk header {head[:80]!r}")
        old_start, old_left, new_start, new_left = (
            1 if part is None else int(part) for part in match.groups()
        )
        lines: list[tuple[str, str]] = []
        while old_left or new_left:
            line = self.take()
            sign, text = (line[0], line[1:]) if line else (" ", "")
            if sign not in " +-" or (sign != "+" and not old_left) or (sign != "-" and not new_left):
                raise PatchError("malformed", f"line {self.at}: does not fit the header of its hunk")
            old_left -= sign != "+"
            new_left -= sign != "-"
            end = "\n"
            if self.peek("\\ "):
                self.take()
                end = ""
            lines.append((sign, text + end))
        return Hunk(old_start, new_start, tuple(lines))


def _checked(old: str | None, new: str | None, hunks: tuple[Hunk, ...], *, copy: bool) -> FileChange:
    if old is None and new is None:
        raise PatchError("malformed", "a change from nothing to nothing")
    return FileChange(
        None if old is None else safe_path(old), None if new is None else safe_path(new), hunks, copy
    )


def _name(text: str, prefix: str) -> str | None:
    text = text if text.startswith('"') else text.partition("\t")[0]
    name = _unquote(text.rstrip("\r"))
    if name == "/dev/null":
        return None
    if not name.startswith(prefix):
        raise PatchError(
            "path_escape" if name.startswith("/") else "malformed", f"{name!r} does not start with {prefix}"
        )
    return name[len(prefix) :]


def _title_names(title: str, extended: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Names of a change without hunks: a mode, a pure rename or copy, an empty file."""
    if "rename from" in extended or "copy from" in extended:
        return None, None  # the headers name both
    if title.startswith('"'):
        match = re.fullmatch(r'("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")', title)
        old, new = (_unquote(match[1]), _unquote(match[2])) if match else ("", "")
    else:
        # `a/X b/X`: the same name twice, whatever spaces it holds.
        middle = len(title) // 2
        old, new = title[:middle], title[middle + 1 :]
    if not old.startswith("a/") or new != "b/" + old[2:]:
        raise PatchError("malformed", f"{title}: which file is this?")
    name = old[2:]
    return (None if "new file mode" in extended else name), (
        None if "deleted file mode" in extended else name
    )


def _unquote(text: str) -> str:
    """A path as git quotes it in C style."""
    if not text.startswith('"'):
        return text
    if len(text) < 2 or not text.endswith('"'):
        raise PatchError("malformed", f"bad quoted path {text[:80]!r}")
    out = bytearray()
    at, body = 0, text[1:-1]
    while at < len(body):
        char = body[at]
        if char == "\\":
            octal = re.match(r"[0-3][0-7]{2}", body[at + 1 :])
            if octal:
                out.append(int(octal[0], 8))
                at += 4
                continue
            if body[at + 1 : at + 2] not in _ESCAPES:
                raise PatchError("malformed", f"bad quoted path {text[:80]!r}")
            char = _ESCAPES[body[at + 1]]
            at += 1
        out += char.encode("utf-8", "surrogateescape")
        at += 1
    return out.decode("utf-8", "surrogateescape")
