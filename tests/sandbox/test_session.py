"""What every kind of session does."""

from pathlib import Path

import pytest

from components.sandbox.base import COLLECT_ENV, FIXED_ENV, Session, Tree
from tests.sandbox.conftest import FILES
from tests.sandbox.daemon import BACKENDS, sandbox_of


def test_runs_in_the_repository_with_the_environment_s_python(any_session: Session) -> None:
    code = "import pkg.core, sys; print(pkg.core.add(1, 2), sys.prefix != sys.base_prefix)"
    result = any_session.exec(["python", "-c", code])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "3 True\n", "")
    assert not result.timed_out and not result.killed and not result.truncated
    assert 0 < result.seconds < 60


def test_exit_codes(any_session: Session) -> None:
    assert any_session.exec(["sh", "-c", "exit 3"]).exit_code == 3
    assert any_session.exec(["sh", "-c", "kill -9 $$"]).exit_code == 137
    assert any_session.exec(["no-such-command"]).exit_code == 127


def test_output_is_kept_apart_and_input_is_fed(any_session: Session) -> None:
    result = any_session.exec(["sh", "-c", "cat; echo err >&2"], stdin=b"in" * 1000)
    assert result.stdout == "in" * 1000
    assert result.stderr == "err\n"
    # A command that does not read its input must not hang us.
    assert any_session.exec(["true"], stdin=b"x" * 1_000_000).exit_code == 0


def test_long_output_keeps_head_and_tail(any_session: Session) -> None:
    result = any_session.exec(["python", "-c", "print('a' + 'x' * 100_000 + 'z')"])
    assert result.truncated and not result.killed
    assert result.stdout.startswith("ax") and result.stdout.endswith("xz\n")
    assert "bytes left out" in result.stdout
    assert len(result.stdout) < 4096 + 100


def test_bad_bytes_in_output_are_replaced(any_session: Session) -> None:
    assert any_session.exec(["printf", "\\377ok"]).stdout == "�ok"


def test_environment_is_the_fixed_one_and_what_is_asked_for(session: Session) -> None:
    result = session.exec(["env"], env={"EXTRA": "a b=c"})
    found = dict(line.split("=", 1) for line in result.stdout.splitlines())
    found.pop("PWD", None)
    assert found == {**FIXED_ENV, "EXTRA": "a b=c"}


def test_arguments_are_not_a_shell_line(any_session: Session) -> None:
    words = ["$HOME; id", "a\nb", "*", "", "--", "-x", "é"]
    result = any_session.exec(["python", "-c", "import sys; print(ascii(sys.argv[1:]))", *words])
    assert result.stdout == ascii(words) + "\n"


def test_read_write_delete_and_list(any_session: Session) -> None:
    assert any_session.read("pkg/core.py") == FILES["pkg/core.py"]
    any_session.write("new/deep/file.py", b"a = 1\n")
    any_session.write("README.md", b"changed")
    any_session.delete("pkg/crlf.py")
    assert any_session.exists("new/deep/file.py")
    assert not any_session.exists("pkg/crlf.py")
    assert not any_session.exists("pkg") and not any_session.exists("nowhere/x")
    expected = (FILES.keys() | {"bin/run.sh", "new/deep/file.py"}) - {"pkg/crlf.py"}
    assert any_session.files() == sorted(expected)
    result = any_session.exec(["sh", "-c", "cat new/deep/file.py README.md; ls pkg; bin/run.sh"])
    assert result.stdout == "a = 1\nchanged__init__.py\ncore.py\nno_newline.py\nran\n"


def test_what_is_written_belongs_to_the_command_s_user(any_session: Session) -> None:
    any_session.write("new/file.py", b"1")
    any_session.write("bin/run.sh", b"#!/bin/sh\necho again\n")
    script = "echo 2 >> new/file.py && echo 3 > new/other && rm README.md && bin/run.sh"
    assert any_session.exec(["sh", "-c", script]).stdout == "again\n"
    assert any_session.read("new/file.py") == b"12\n"


def test_missing_files_and_folders(any_session: Session) -> None:
    with pytest.raises(FileNotFoundError):
        any_session.read("nope.py")
    with pytest.raises(FileNotFoundError):
        any_session.delete("nope.py")
    with pytest.raises(IsADirectoryError):
        any_session.read("pkg")
    with pytest.raises(IsADirectoryError):
        any_session.write("pkg", b"")


def test_state_stays_between_commands_and_the_tree_is_untouched(any_session: Session, tree: Tree) -> None:
    any_session.exec(["sh", "-c", "echo 1 > one; rm -r data; mkdir data; echo 2 > data/two"])
    assert any_session.exec(["cat", "one", "data/two"]).stdout == "1\n2\n"
    assert not (tree.repo / "one").exists()
    assert (tree.repo / "data" / "blob.bin").read_bytes() == FILES["data/blob.bin"]


@pytest.mark.parametrize("kind", [*BACKENDS, "bubblewrap-copy", "process"])
def test_files_and_remove(tree: Tree, kind: str) -> None:
    files = {"pkg/core.py": b"bug\n", "tests/test_new.py": b"def test(): pass\n"}
    with sandbox_of(kind).open(tree, files=files, remove=["pkg/crlf.py"]) as session:
        assert session.diff() == ""
        assert session.read("pkg/core.py") == b"bug\n"
        assert not session.exists("pkg/crlf.py")
        session.write("pkg/core.py", b"fix\n")
        session.delete("tests/test_new.py")
        session.write("pkg/crlf.py", b"back\r\n")
        assert session.diff() == (
            "diff --git a/pkg/core.py b/pkg/core.py\n"
            "--- a/pkg/core.py\n+++ b/pkg/core.py\n@@ -1 +1 @@\n-bug\n+fix\n"
            "diff --git a/pkg/crlf.py b/pkg/crlf.py\nnew file mode 100644\n"
            "--- /dev/null\n+++ b/pkg/crlf.py\n@@ -0,0 +1 @@\n+back\r\n"
            "diff --git a/tests/test_new.py b/tests/test_new.py\ndeleted file mode 100644\n"
            "--- a/tests/test_new.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def test(): pass\n"
        )
        session.write("pkg/core.py", b"bug\n")
        assert "core.py" not in session.diff()


def test_diff_of_what_commands_did(any_session: Session) -> None:
    script = (
        "mkdir pkg/__pycache__ .pytest_cache fresh; echo x > pkg/__pycache__/core.pyc; echo x > .pytest_cache/v;"
        "echo x > fresh/file.py; rm -r data; sed -i s/+/*/ pkg/core.py; mv pkg/no_newline.py pkg/moved.py;"
        "printf 'y = 2' >> pkg/crlf.py; ln -s /etc/passwd link; mkfifo pipe; printf 'a\\000b' > binary;"
        "printf 'caf\\351' > latin; chmod 000 fresh/file.py"
    )
    assert any_session.exec(["sh", "-c", script]).exit_code == 0
    report = any_session.diff_report()
    assert any_session.diff() == report.text
    headers = [line for line in report.text.splitlines() if line.startswith(("diff", "new", "deleted"))]
    assert headers == [
        "diff --git a/fresh/file.py b/fresh/file.py",
        "new file mode 100644",
        "diff --git a/pkg/core.py b/pkg/core.py",
        "diff --git a/pkg/crlf.py b/pkg/crlf.py",
        "diff --git a/pkg/moved.py b/pkg/moved.py",
        "new file mode 100644",
        "diff --git a/pkg/no_newline.py b/pkg/no_newline.py",
        "deleted file mode 100644",
    ]
    assert "\n y = 2\r\n+y = 2\n\\ No newline at end of file\n" in report.text
    assert report.refused == (
        "binary: binary; left out of the diff",
        "data/blob.bin: binary; left out of the diff",
        "latin: not UTF-8; left out of the diff",
        "link: not a regular file; left out of the diff",
        "pipe: not a regular file; left out of the diff",
    )


def test_a_folder_that_takes_the_place_of_a_file_and_the_reverse(any_session: Session) -> None:
    script = "rm pkg/core.py; mkdir pkg/core.py; echo 1 > pkg/core.py/x.py; rm -r data; echo 2 > data"
    assert any_session.exec(["sh", "-c", script]).exit_code == 0
    headers = [line for line in any_session.diff().splitlines() if line.startswith("diff")]
    assert headers == [
        f"diff --git a/{name} b/{name}" for name in ("data", "pkg/core.py", "pkg/core.py/x.py")
    ]
    assert "data/blob.bin" in any_session.diff_report().refused[0]


def test_collect(any_session: Session, tmp_path: Path) -> None:
    script = (
        f'test -w "${COLLECT_ENV}" && echo "${COLLECT_ENV}" && cd "${COLLECT_ENV}"'
        " && mkdir sub && echo r > sub/result && ln -s /etc/passwd link && mkfifo pipe"
    )
    target = tmp_path / "collected"
    first = any_session.exec(["sh", "-c", script], collect=target)
    assert first.exit_code == 0, first.stderr
    found = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    assert found == {"sub/result": b"r\n"}
    assert not any(path.is_symlink() for path in target.rglob("*"))
    # The next command gets another path, and finds nothing at the first.
    look = ["sh", "-c", f'ls -A "{first.stdout.strip()}"; echo "$WHERE"']
    second = any_session.exec(look, collect=tmp_path / "second", collect_env="WHERE")
    assert second.stdout.strip() not in ("", first.stdout.strip())
    assert "sub" not in second.stdout
    assert any_session.diff() == ""


def test_background_processes_end_with_the_command(any_session: Session) -> None:
    daemon = "(setsid sh -c 'while :; do echo alive >> beat; sleep 0.05; done' >/dev/null 2>&1 &) ; sleep 0.3"
    assert any_session.exec(["sh", "-c", daemon]).exit_code == 0
    before = any_session.read("beat")
    assert before
    any_session.exec(["sleep", "0.5"])
    assert any_session.read("beat") == before


def test_a_background_process_that_holds_the_output_open_does_not_keep_us_waiting(
    any_session: Session,
) -> None:
    result = any_session.exec(["sh", "-c", "sleep 300 & echo done"])
    assert result.stdout == "done\n"
    assert result.seconds < 60


def test_closing_twice_is_closing_once(any_session: Session) -> None:
    any_session.close()
    any_session.close()
