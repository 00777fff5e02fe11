"""Safe copies and the move to a content address."""

import os
from pathlib import Path

import pytest

from components.records.errors import InputError
from components.repos.tree import copy_tree, pin_of, publish, staging
from components.store.digests import sha256_tree
from components.store.workspace import Workspace


def make(folder: Path) -> Path:
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/a.py").write_text("a = 1\n")
    (folder / "run.sh").write_text("echo\n")
    (folder / "run.sh").chmod(0o755)
    return folder


def test_history_caches_and_environments_are_not_copied(tmp_path: Path) -> None:
    tree = make(tmp_path / "tree")
    pinned = sha256_tree(tree)
    for name in (".git/HEAD", "pkg/__pycache__/a.pyc", "env/pyvenv.cfg", "env/bin/python", "pkg/a.pyc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("")
    copy_tree(tree, tmp_path / "copy")
    assert sha256_tree(tmp_path / "copy") == pinned == pin_of(tree)


def test_a_link_inside_becomes_a_file(tmp_path: Path) -> None:
    tree = make(tmp_path / "tree")
    (tree / "b.py").symlink_to("pkg/a.py")
    copy_tree(tree, tmp_path / "copy")
    assert (tmp_path / "copy/b.py").read_text() == "a = 1\n"
    assert not (tmp_path / "copy/b.py").is_symlink()


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "nowhere", "pkg"])
def test_other_links_are_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_text("x")
    tree = make(tmp_path / "tree")
    (tree / "b.py").symlink_to(target)
    with pytest.raises(InputError, match=r"b\.py"):
        copy_tree(tree, tmp_path / "copy")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    tree = make(tmp_path / "tree")
    os.mkfifo(tree / "pipe")
    with pytest.raises(InputError, match="pipe is neither"):
        copy_tree(tree, tmp_path / "copy")


def test_staging_leaves_nothing_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staging(Workspace(tmp_path), tmp_path / "trees", "x") as private:
        make(private / "x")
        raise RuntimeError
    assert list((tmp_path / "trees").iterdir()) == []


def test_what_a_killed_process_left_is_gone(tmp_path: Path) -> None:
    (tmp_path / "trees/.staging-x/half").mkdir(parents=True)
    with staging(Workspace(tmp_path), tmp_path / "trees", "x") as private:
        assert list(private.iterdir()) == []


def test_the_first_to_publish_wins(tmp_path: Path) -> None:
    for text in ("first", "second"):
        with staging(Workspace(tmp_path), tmp_path / "trees", "x") as private:
            (private / "x").mkdir()
            (private / "x/file").write_text(text)
            publish(private / "x", tmp_path / "trees/digest")
    assert (tmp_path / "trees/digest/file").read_text() == "first"
    assert [path.name for path in (tmp_path / "trees").iterdir()] == ["digest"]


def test_publishing_to_a_place_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError):
        publish(tmp_path / "x", tmp_path / "file" / "digest")
