"""Safe extraction of source archives: regular files and folders, and nothing outside the target.

`tarfile`'s own `data` filter follows the file system while it extracts, and has been got round by chains of
links. Here no link is ever made: one that points to a file of the archive becomes a copy of that file, any
other is refused.
"""

import io
import posixpath
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from components.records.errors import InputError

MAX_BYTES = 2 << 30
MAX_FILES = 200_000


class _Member:
    """What an archive says about one file: its bytes, or the name of the member that it links to."""

    def __init__(self, name: str, data: bytes | None, *, executable: bool = False, link: str = "") -> None:
        self.name, self.data, self.executable, self.link = name, data, executable, link


def extract(archive: Path, target: Path) -> None:
    """Write the files of a tar or zip archive below `target`, without the folder that holds them all.

    Raises:
        InputError: It is not an archive, or it holds a path, link, device or size that is not safe.
    """
    members: dict[str, _Member] = {}
    for member in _read(archive):
        name = _safe_name(archive, member.name)
        if name:
            members[name] = member
        if len(members) > MAX_FILES:
            raise InputError(f"{archive.name}: more than {MAX_FILES:,} files; not extracted")
    if not members:
        raise InputError(f"{archive.name}: holds no files")
    prefix = _common_folder(members)
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(members):
        source = _resolve(archive, name, members)
        path = target / name[len(prefix) :]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.data or b"")
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise InputError(f"{archive.name}: {name!r} is both a file and a folder") from error
        path.chmod(0o755 if source.executable else 0o644)


def _read(archive: Path) -> Iterator[_Member]:
    data = archive.read_bytes()
    try:
        if data.startswith(b"PK"):
            yield from _read_zip(archive.name, data)
        else:
            yield from _read_tar(archive.name, data)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise InputError(f"{archive.name}: not a readable archive ({error})") from error


def _read_tar(name: str, data: bytes) -> Iterator[_Member]:
    total = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as tar:
        for info in tar:
            total = _count(name, total, info.size if info.isreg() else 0)
            if info.isdir():
                continue
            if info.issym():
                link = posixpath.join(posixpath.dirname(info.name), info.linkname)
                yield _Member(info.name, None, link=info.linkname if info.linkname.startswith("/") else link)
            elif info.islnk():
                yield _Member(info.name, None, link=info.linkname)
            elif info.isreg():
                stream = tar.extractfile(info)
                content = stream.read() if stream else b""
                yield _Member(info.name, content, executable=bool(info.mode & 0o100))
            else:
                raise InputError(f"{name}: {info.name!r} is neither a file nor a folder; not extracted")


def _read_zip(name: str, data: bytes) -> Iterator[_Member]:
    total = 0
    with zipfile.ZipFile(io.BytesIO(data)) as bundle:
        for info in bundle.infolist():
            total = _count(name, total, info.file_size)
            mode = info.external_attr >> 16
            if info.is_dir():
                continue
            if stat.S_ISLNK(mode):
                raise InputError(f"{name}: {info.filename!r} is a link; not extracted")
            yield _Member(info.filename, bundle.read(info), executable=bool(mode & 0o100))


def _count(name: str, total: int, size: int) -> int:
    if total + size > MAX_BYTES:
        raise InputError(f"{name}: more than {MAX_BYTES >> 30} GiB unpacked; not extracted")
    return total + size


def _safe_name(archive: Path, name: str) -> str:
    """The normal form of a member's name, relative; empty for the root itself."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
        raise InputError(f"{archive.name}: {name!r} points outside the archive; not extracted")
    return "/".join(path.parts)


def _common_folder(members: dict[str, _Member]) -> str:
    """`boltons-26.2.0/` if every file lies below it, else nothing."""
    tops = {name.split("/", 1)[0] for name in members}
    nested = all("/" in name for name in members)
    return f"{tops.pop()}/" if nested and len(tops) == 1 else ""


def _resolve(archive: Path, name: str, members: dict[str, _Member]) -> _Member:
    """Follow links inside the archive to the file that they mean."""
    member, seen = members[name], {name}
    while member.link:
        target = posixpath.normpath(member.link)
        if target in seen or target not in members:
            raise InputError(f"{archive.name}: {name!r} links to {member.link!r}, no file of the archive")
        seen.add(target)
        member = members[target]
    return member
