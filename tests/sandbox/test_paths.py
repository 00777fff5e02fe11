"""No path that we are given, and no link that a command plants, reaches a file of the host."""

from pathlib import Path

import pytest

from components.sandbox.base import Session, UnsafePathError

ESCAPES = ["../outside", "a/../../outside", "/etc/passwd", "", "..", "pkg/../..", "nul\0", "/repo/README.md"]


def test_paths_that_leave_the_repository(any_session: Session) -> None:
    calls = (any_session.read, any_session.delete, lambda p: any_session.write(p, b"x"), any_session.exists)
    for path in ESCAPES:
        for call in calls:
            with pytest.raises(UnsafePathError):
                call(path)


def test_dots_that_stay_inside(any_session: Session) -> None:
    assert any_session.read("pkg/../README.md") == any_session.read("./README.md")
    with pytest.raises(IsADirectoryError):
        any_session.read(".")


def test_planted_links_are_not_followed_out(any_session: Session, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    script = (
        f"ln -s {secret} file; ln -s {tmp_path} folder; ln -s ../../../../../../../../{secret} relative;"
        "ln -s /etc etc; ln -s .. up; ln -s loop loop; ln -s pkg/../../etc/passwd winding; rm -r pkg; ln -s / pkg"
    )
    assert any_session.exec(["sh", "-c", script]).exit_code == 0
    for path in (
        "file",
        "folder/secret",
        "folder/new",
        "relative",
        "etc/passwd",
        f"up/{secret}",
        "up/etc/passwd",
        "loop",
        "winding",
        "pkg/etc/passwd",
    ):
        with pytest.raises(UnsafePathError):
            any_session.read(path)
        with pytest.raises(UnsafePathError):
            any_session.write(path, b"pwned")
    for path in ("folder/secret", "etc/passwd", "up/etc/passwd", "pkg/etc/passwd"):
        with pytest.raises(UnsafePathError):
            any_session.delete(path)
    assert secret.read_text() == "s3cret"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret"]
    # A link itself may go, which leaves what it led to.
    any_session.delete("file")
    assert secret.exists()
    assert "s3cret" not in any_session.diff()
    assert not {"folder/secret", "etc/passwd"} & set(any_session.files())


def test_links_that_stay_inside_are_followed(any_session: Session) -> None:
    assert any_session.read("inside") == any_session.read("pkg/core.py")
    script = "mkdir -p a/b; ln -s ../../pkg a/b/up; ln -s a/b/up/core.py twice"
    assert any_session.exec(["sh", "-c", script]).exit_code == 0
    assert any_session.read("a/b/up/core.py") == any_session.read("twice") == any_session.read("pkg/core.py")
    any_session.write("a/b/up/core.py", b"new\n")
    assert any_session.read("pkg/core.py") == b"new\n"


def test_an_absolute_link_into_the_repository_is_followed(session: Session) -> None:
    session.exec(["ln", "-s", "/repo/pkg", "absolute"])
    assert session.read("absolute/core.py") == session.read("pkg/core.py")


def test_pipes_do_not_hang_us(any_session: Session) -> None:
    any_session.exec(["mkfifo", "pipe"])
    with pytest.raises(IsADirectoryError):
        any_session.read("pipe")
    with pytest.raises(IsADirectoryError):
        any_session.write("pipe", b"x")
    assert not any_session.exists("pipe")
    assert "pipe" not in any_session.files()


def test_deep_and_odd_names(any_session: Session) -> None:
    code = (
        "import os\n"
        "for name in ('a b', 'tab\\there', 'quo\"te', 'new\\nline', 'é', 'back\\\\slash', '-rf'):\n"
        "    open(name, 'w').write('x\\n')\n"
        "for _ in range(120):\n"
        "    os.mkdir('d' * 60); os.chdir('d' * 60)\n"
        "open('end', 'w').write('x')\n"
    )
    assert any_session.exec(["python", "-c", code]).exit_code == 0
    names = {"a b", "tab\there", 'quo"te', "new\nline", "é", "back\\slash", "-rf"}
    assert names <= set(any_session.files())
    text = any_session.diff()
    for shown in ("+++ b/a b\t\n", '+++ "b/tab\\there"\n', '+++ "b/quo\\"te"\n', '+++ "b/new\\nline"\n'):
        assert shown in text
    assert '+++ "b/\\303\\251"\n' in text
    for name in names:
        assert any_session.read(name) == b"x\n"
        any_session.write(name, b"y\n")
        any_session.delete(name)
        assert not any_session.exists(name)
