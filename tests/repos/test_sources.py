"""Pinned sources become trees in the workspace."""

import subprocess
from pathlib import Path

import pytest

from components.records.errors import ConfigError, CorruptionError, InfrastructureError, InputError
from components.records.repository import Source
from components.repos.tree import pin_of
from components.repos.trees import obtain_tree
from components.sandbox.trees import repo_path
from components.store import Workspace
from components.store.digests import sha256_bytes
from tests.repos.test_archive import tar_of

KEY = "repositories.catalogue.lib"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, str, str]:
    """A git repository with a bug and its fix; its folder and both commits."""
    folder = tmp_path / "upstream"
    folder.mkdir()
    git(folder, "init", "-q")
    commits = []
    for text in ("x = 'bug'\n", "x = 'fix'\n"):
        (folder / "lib.py").write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "-qm", text)
        commits.append(git(folder, "rev-parse", "HEAD"))
    return folder, commits[0], commits[1]


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def obtain(tmp_path: Path, source: Source) -> Path:
    return obtain_tree(Workspace(tmp_path / "ws"), source, version="1.0", key=KEY)[0]


def nothing_left(tmp_path: Path) -> bool:
    trees = tmp_path / "ws/cache/trees"
    return not trees.exists() or not list(trees.iterdir())


def test_git_gives_one_commit_and_no_history(tmp_path: Path, history: tuple[Path, str, str]) -> None:
    folder, old, _ = history
    tree = obtain(tmp_path, Source(kind="git", location=folder.as_uri(), pin=old))
    assert names(tree) == {"lib.py"}
    assert "bug" in (tree / "lib.py").read_text()
    assert not any(b"fix" in path.read_bytes() for path in tree.rglob("*") if path.is_file())


def test_git_runs_no_hook_and_keeps_no_link_out(tmp_path: Path, history: tuple[Path, str, str]) -> None:
    folder, _, _ = history
    (folder / "passwd").symlink_to("/etc/passwd")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "link")
    source = Source(kind="git", location=folder.as_uri(), pin=git(folder, "rev-parse", "HEAD"))
    with pytest.raises(InputError, match="passwd links to /etc/passwd"):
        obtain(tmp_path, source)
    assert nothing_left(tmp_path)


def test_git_commit_that_is_not_there(tmp_path: Path, history: tuple[Path, str, str]) -> None:
    source = Source(kind="git", location=history[0].as_uri(), pin="0" * 40)
    with pytest.raises(ConfigError, match=rf"{KEY}\.pin: '0{{40}}' is not allowed; allowed: a commit of"):
        obtain(tmp_path, source)
    assert nothing_left(tmp_path)


def test_git_repository_that_is_not_there(tmp_path: Path) -> None:
    source = Source(kind="git", location=(tmp_path / "none").as_uri(), pin="0" * 40)
    with pytest.raises(ConfigError, match=rf"{KEY}\.location: .*/none'"):
        obtain(tmp_path, source)


def test_git_host_that_does_not_answer(tmp_path: Path) -> None:
    source = Source(kind="git", location="http://127.0.0.1:9/x.git", pin="0" * 40)
    with pytest.raises(InfrastructureError, match="git fetch failed"):
        obtain(tmp_path, source)


def test_git_without_a_pin_says_what_it_could_be(tmp_path: Path, history: tuple[Path, str, str]) -> None:
    with pytest.raises(ConfigError, match=history[2]):
        obtain(tmp_path, Source(kind="git", location=history[0].as_uri(), pin=""))


def test_git_is_fetched_once(tmp_path: Path, history: tuple[Path, str, str]) -> None:
    source = Source(kind="git", location=history[0].as_uri(), pin=history[1])
    first = obtain(tmp_path, source)
    history[0].rename(tmp_path / "gone")
    assert obtain(tmp_path, source) == first


def sdist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: bytes) -> Source:
    """An sdist in a folder that pip is told to look at."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    made = tar_of(tmp_path / "lib-1.0.tar.gz", [(f"lib-1.0/{name}", data) for name, data in files.items()])
    return Source(kind="sdist", location="lib", pin=sha256_bytes(made.read_bytes()))


def test_sdist_is_found_through_pip_and_downloaded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = sdist(tmp_path, monkeypatch, **{"lib.py": b"x = 1\n"})
    tree = obtain(tmp_path, source)
    assert names(tree) == {"lib.py"}
    (tmp_path / "lib-1.0.tar.gz").unlink()
    (tree / "lib.py").unlink()
    tree.rmdir()
    assert obtain(tmp_path, source) == tree


def test_sdist_without_a_pin_says_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sdist(tmp_path, monkeypatch, **{"lib.py": b""})
    with pytest.raises(ConfigError, match=f"allowed: {source.pin}. that is the sha256 of lib-1.0.tar.gz"):
        obtain(tmp_path, source.model_copy(update={"pin": ""}))


def test_sdist_whose_version_is_none(tmp_path: Path) -> None:
    source = Source(kind="sdist", location="lib", pin="0" * 64)
    with pytest.raises(ConfigError, match=r"lib\.version: 'nightly'"):
        obtain_tree(Workspace(tmp_path), source, version="nightly", key=KEY)


def test_a_cached_download_that_was_changed_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = sdist(tmp_path, monkeypatch, **{"lib.py": b"x = 1\n"})
    cached = tmp_path / "ws/cache/sdists" / f"{source.pin}.sdist"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"something else")
    assert names(obtain(tmp_path, source)) == {"lib.py"}


def test_a_tree_that_was_changed_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = sdist(tmp_path, monkeypatch, **{"lib.py": b"x = 1\n"})
    tree = obtain(tmp_path, source)
    (tree / "lib.py").write_text("x = 2\n")
    with pytest.raises(CorruptionError, match="delete it and rerun"):
        obtain(tmp_path, source)


def folder(tmp_path: Path) -> Path:
    made = tmp_path / "lib"
    made.mkdir()
    (made / "lib.py").write_text("x = 1\n")
    return made


def test_path(tmp_path: Path) -> None:
    made = folder(tmp_path)
    source = Source(kind="path", location=str(made), pin=pin_of(made))
    tree = obtain(tmp_path, source)
    assert tree == repo_path(Workspace(tmp_path / "ws"), source.pin)
    assert names(tree) == {"lib.py"}


def test_a_folder_that_has_changed_is_told_and_how_to_go_on(tmp_path: Path) -> None:
    made = folder(tmp_path)
    source = Source(kind="path", location=str(made), pin=pin_of(made))
    obtain(tmp_path, source)
    (made / "lib.py").write_text("x = 2\n")
    with pytest.raises(ConfigError, match=pin_of(made)):
        obtain(tmp_path, source)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{KEY}\.location: .*a folder that exists"):
        obtain(tmp_path, Source(kind="path", location=str(tmp_path / "none"), pin="0" * 64))


def test_a_source_without_python(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "lib.py").rename(made / "lib.txt")
    with pytest.raises(InputError, match="holds no Python files"):
        obtain(tmp_path, Source(kind="path", location=str(made), pin=pin_of(made)))
    assert nothing_left(tmp_path)
