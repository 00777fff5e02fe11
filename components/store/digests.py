"""sha256 of files, folders and JSON values."""

import hashlib
from pathlib import Path

from pydantic import JsonValue

from components.records.base import canonical_json


def sha256_bytes(data: bytes) -> str:
    """Digest of some bytes."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Digest of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def md5_bytes(data: bytes) -> str:
    """What DVC calls some bytes."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def md5_file(path: Path) -> str:
    """What DVC calls a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def sha256_json(value: JsonValue) -> str:
    """Digest of a JSON value, whatever the order of its keys."""
    return sha256_bytes(canonical_json(value).encode())


def sha256_tree(folder: Path) -> str:
    """Digest of a folder: relative paths, contents, executable bits and symlink targets."""
    entries: list[JsonValue] = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries.append([name, "link", path.readlink().as_posix()])
        elif path.is_file():
            kind = "executable" if path.stat().st_mode & 0o100 else "file"
            entries.append([name, kind, sha256_file(path)])
    return sha256_json(entries)
