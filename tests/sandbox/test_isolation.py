"""What a command cannot see, reach or change."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.sandbox.base import Session, Tree
from tests.sandbox.daemon import sandbox_of


@pytest.fixture
def host_server() -> Iterator[int]:
    """A port on this machine's loopback that answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def serve() -> None:
            server.settimeout(0.2)
            while not stop.is_set():
                try:
                    server.accept()[0].close()
                except TimeoutError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


def test_host_files_are_invisible(session: Session, tmp_path: Path, tree: Tree) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    here = Path(__file__).resolve()
    for path in (secret, here, tree.repo / "README.md", tree.environment / "pyvenv.cfg"):
        assert path.exists()
        assert session.exec(["cat", str(path)]).exit_code == 1
    listing = session.exec(
        ["sh", "-c", "ls -A /home /root /work /srv /mnt /var/lib/dpkg 2>/dev/null; ls -A /tmp"]
    )
    assert "secret" not in listing.stdout
    # Neither by way of another process's view of the files.
    everywhere = f"cat /proc/*/root{secret} /proc/*/cwd/secret 2>/dev/null; true"
    assert session.exec(["sh", "-c", everywhere]).stdout == ""


def test_host_environment_is_invisible(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLYWHEEL_TEST_SECRET", "s3cret")
    assert "s3cret" not in session.exec(["env"]).stdout
    assert "s3cret" not in session.exec(["sh", "-c", "cat /proc/*/environ"]).stdout


def test_host_processes_are_invisible(session: Session) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()", "a-marker-of-the-host"], stdin=subprocess.PIPE
    ) as other:
        listing = session.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]).stdout
        count = int(session.exec(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"]).stdout)
        killed = session.exec(["sh", "-c", f"kill -9 {other.pid}; kill -9 {os.getpid()}"])
        assert killed.exit_code != 0
        other.communicate(b"\n")
        assert other.returncode == 0
    assert "a-marker-of-the-host" not in listing
    assert count < 10


def test_no_network_and_not_even_the_host_s_loopback(session: Session, host_server: int) -> None:
    with socket.create_connection(("127.0.0.1", host_server), timeout=5):
        pass
    code = (
        "import socket, sys\n"
        f"for address in (('127.0.0.1', {host_server}), ('192.0.2.1', 80), ('1.1.1.1', 53)):\n"
        "    try:\n"
        "        socket.create_connection(address, timeout=3)\n"
        "        print('connected', address)\n"
        "    except OSError as error:\n"
        "        print('refused')\n"
        "try:\n"
        "    socket.getaddrinfo('example.org', 80)\n"
        "    print('resolved')\n"
        "except OSError:\n"
        "    print('unresolved')\n"
    )
    assert session.exec(["python", "-c", code]).stdout == "refused\n" * 3 + "unresolved\n"
    interfaces = session.exec(["sh", "-c", "cat /proc/net/dev | tail -n +3 | cut -d: -f1"]).stdout.split()
    assert set(interfaces) <= {"lo", "sit0", "tunl0", "ip6tnl0"}


def test_no_abstract_socket_of_the_host(session: Session) -> None:
    name = f"\0flywheel-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        assert "ConnectionRefusedError" in session.exec(["python", "-c", code]).stderr


def test_its_own_loopback_works(session: Session) -> None:
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname())\n"
        "server.accept()[0].sendall(b'ok')\n"
        "print(client.recv(2))"
    )
    assert session.exec(["python", "-c", code]).stdout == "b'ok'\n"


def test_only_the_repository_and_tmp_can_be_written(session: Session, tree: Tree) -> None:
    script = (
        "for place in / /env /env/bin /usr /usr/bin /etc /root /home /var /opt /dev /proc /sys /run;"
        " do (echo x > $place/planted) 2>/dev/null && echo $place; done;"
        "(echo x >> /etc/passwd) 2>/dev/null && echo passwd;"
        "(echo x >> /env/pyvenv.cfg) 2>/dev/null && echo cfg;"
        "chmod 777 /env /etc 2>/dev/null && echo chmod;"
        "rm -rf /env/bin /usr/bin/env 2>/dev/null && echo removed;"
        "echo x > /tmp/fine && echo x > /repo/fine && echo x > /dev/shm/fine && echo fine"
    )
    assert session.exec(["sh", "-c", script]).stdout == "fine\n"
    assert not (tree.environment / "planted").exists()
    assert not (tree.repo / "fine").exists()
    assert (tree.environment / "bin" / "python").exists()


def test_it_is_an_ordinary_user_without_powers(session: Session) -> None:
    status = session.exec(["cat", "/proc/self/status"]).stdout
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert "0" not in fields["Uid"].split()
    assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == int(fields["CapAmb"], 16) == 0
    assert fields["NoNewPrivs"].strip() == "1"
    assert fields["Seccomp"].strip() == "2"
    assert session.exec(["id", "-un"]).stdout == "agent\n"


def test_it_gets_no_powers_by_new_namespaces_or_mounts(session: Session) -> None:
    for argv in (
        ["unshare", "--user", "--map-root-user", "true"],
        ["unshare", "--net", "true"],
        ["mount", "-t", "tmpfs", "none", "/tmp"],
        ["mount", "-o", "remount,rw", "/env"],
        ["umount", "/env"],
        ["chroot", "/tmp", "true"],
    ):
        assert session.exec(argv).exit_code != 0, argv


def test_no_file_of_ours_is_handed_on(session: Session) -> None:
    with Path(__file__).open() as held:
        os.set_inheritable(held.fileno(), True)
        result = session.exec(["sh", "-c", "ls /proc/self/fd; ls -l /proc/[0-9]*/fd"])
    assert set(result.stdout.split("\n\n")[0].split("/proc")[0].split()) <= {"0", "1", "2", "3"}
    for word in ("mnt:", "net:", "user:", "memfd", "test_isolation"):
        assert word not in result.stdout


def test_sessions_do_not_see_each_other(session: Session, tree: Tree, request: pytest.FixtureRequest) -> None:
    kind = request.node.callspec.params["session"]
    with sandbox_of(kind).open(tree) as other:
        other.write("only-here", b"")
        other.exec(["sh", "-c", "echo 1 > /tmp/only-here"])
        assert not session.exists("only-here")
        assert session.exec(["ls", "/tmp/only-here"]).exit_code != 0


def test_the_host_name_is_hidden(session: Session) -> None:
    assert session.exec(["cat", "/proc/sys/kernel/hostname"]).stdout == "sandbox\n"
