"""Archives from the internet may be made to hurt."""

import io
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.records.errors import InputError
from components.repos import archive
from components.repos.archive import extract


def tar_of(path: Path, members: Sequence[tuple[str, bytes | tarfile.TarInfo]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members:
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[str, tarfile.TarInfo]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return name, info


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def test_the_folder_that_holds_everything_is_left_out(tmp_path: Path) -> None:
    made = tar_of(tmp_path / "a.tar.gz", [("pkg-1.0/x.py", b"1"), ("pkg-1.0/sub/y.py", b"2")])
    extract(made, tmp_path / "out")
    assert files(tmp_path / "out") == {"x.py": b"1", "sub/y.py": b"2"}


def test_the_executable_bit_is_kept_and_nothing_else_of_the_mode(tmp_path: Path) -> None:
    info = tarfile.TarInfo("p/run.sh")
    info.mode = 0o6777
    extract(tar_of(tmp_path / "a.tar.gz", [("p/run.sh", info), ("p/x", b"")]), tmp_path / "out")
    assert (tmp_path / "out/run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "out/x").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_to_a_file_of_the_archive_becomes_that_file(tmp_path: Path, kind: bytes) -> None:
    target = "x.py" if kind == tarfile.SYMTYPE else "p/x.py"
    made = tar_of(tmp_path / "a.tar.gz", [("p/x.py", b"code"), link("p/y.py", target, kind)])
    extract(made, tmp_path / "out")
    assert files(tmp_path / "out") == {"x.py": b"code", "y.py": b"code"}


@pytest.mark.parametrize(
    "member",
    [
        ("../escape", b"x"),
        ("p/../../escape", b"x"),
        ("/tmp/escape", b"x"),
        ("p/..\\..\\escape", b"x"),
        link("p/passwd", "/etc/passwd"),
        link("p/passwd", "../../../etc/passwd"),
        link("p/loop", "loop"),
        link("p/folder", "."),
        link("p/hard", "/etc/passwd", tarfile.LNKTYPE),
    ],
    ids=lambda member: member[0] if isinstance(member[1], bytes) else f"{member[0]}->{member[1].linkname}",
)
def test_nothing_from_outside_and_nothing_to_outside(
    tmp_path: Path, member: tuple[str, bytes | tarfile.TarInfo]
) -> None:
    made = tar_of(tmp_path / "a.tar.gz", [("p/ok.py", b"fine"), member])
    with pytest.raises(InputError, match=r"a\.tar\.gz"):
        extract(made, tmp_path / "deep/out")
    assert not list(tmp_path.rglob("escape"))


def test_a_folder_link_and_then_a_file_through_it(tmp_path: Path) -> None:
    made = tar_of(tmp_path / "a.tar.gz", [link("p/d", str(tmp_path / "victim")), ("p/d/x", b"x")])
    (tmp_path / "victim").mkdir()
    with pytest.raises(InputError):
        extract(made, tmp_path / "out")
    assert not list((tmp_path / "victim").iterdir())


def test_devices_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a file nor a folder"):
        extract(tar_of(tmp_path / "a.tar.gz", [link("p/fifo", "", tarfile.FIFOTYPE)]), tmp_path / "out")


def test_a_file_that_is_a_folder_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="both a file and a folder"):
        extract(tar_of(tmp_path / "a.tar.gz", [("p/a", b""), ("p/a/b", b"")]), tmp_path / "out")


def test_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as bundle:
        bundle.writestr("p/x.py", b"1")
    extract(tmp_path / "a.zip", tmp_path / "out")
    assert files(tmp_path / "out") == {"x.py": b"1"}


def test_zip_that_climbs_out(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as bundle:
        bundle.writestr("../escape", b"1")
    with pytest.raises(InputError, match="outside the archive"):
        extract(tmp_path / "a.zip", tmp_path / "out")


def test_zip_with_a_link(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("p/link")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as bundle:
        bundle.writestr(info, "/etc/passwd")
    with pytest.raises(InputError, match="is a link"):
        extract(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken", b"\x1f\x8b\x08 broken"])
def test_rubbish(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.tar\.gz"):
        extract(tmp_path / "a.tar.gz", tmp_path / "out")


def test_bombs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    with pytest.raises(InputError, match="unpacked"):
        extract(tar_of(tmp_path / "a.tar.gz", [("p/x", b"0" * 2000)]), tmp_path / "out")
    many = tar_of(tmp_path / "b.tar.gz", [(f"p/{n}", b"") for n in range(4)])
    with pytest.raises(InputError, match="more than 3 files"):
        extract(many, tmp_path / "out")


PARTS = st.sampled_from(["a", "b", "c.py", "..", ".", "", "d e", "ü"])
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join) | PARTS.map(lambda part: f"/{part}")
MEMBERS = st.lists(st.tuples(NAMES, st.binary(max_size=8) | NAMES.map(lambda name: ("->", name))), max_size=6)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(members=MEMBERS)
def test_whatever_is_in_it_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory,
    members: list[tuple[str, bytes | tuple[str, str]]],
) -> None:
    root = tmp_path_factory.mktemp("archive")
    built = [
        (name, content) if isinstance(content, bytes) else link(name, content[1]) for name, content in members
    ]
    made = tar_of(root / "a.tar.gz", built)
    target = root / "in" / "out"
    try:
        extract(made, target)
    except InputError:
        pass
    else:
        written = files(target)
        assert written
        names = {"/".join(PurePosixPath(name).parts) for name, _ in built} - {""}  # "." names nothing
        prefixes = {name.partition("/")[0] for name in names}
        for path in written:
            assert path in names or f"{next(iter(prefixes))}/{path}" in names
    everything = {path for path in root.rglob("*") if path.is_file() or path.is_symlink()}
    assert all(path.is_relative_to(target) or path == made for path in everything)
    assert not any(path.is_symlink() for path in everything)
