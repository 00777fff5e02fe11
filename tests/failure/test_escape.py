"""Ways out of a sandbox that have been tried on others."""

import os
from pathlib import Path

import pytest

from components.sandbox.base import Tree, UnsafePathError
from tests.sandbox.daemon import BACKENDS, SMALL, sandbox_of

ATTEMPTS = {
    "core pattern": "echo '|/bin/sh' > /proc/sys/kernel/core_pattern",
    "uevent helper": "echo /bin/sh > /sys/kernel/uevent_helper",
    "sysrq": "echo h > /proc/sysrq-trigger",
    "host root by process 1": "ls /proc/1/root/home/.. && cat /proc/1/root/etc/shadow",
    "open holder": "ls /s /oldroot /newroot",
    "raw disk": "head -c 1 /dev/vda || head -c 1 /dev/sda || mknod /tmp/disk b 254 0",
    "kernel memory": "head -c 1 /dev/mem || head -c 1 /proc/kcore",
    "docker socket": "test -S /var/run/docker.sock",
    "set user id": "cp /bin/sh /tmp/sh && chmod u+s /tmp/sh && test \"$(/tmp/sh -p -c 'id -u')\" = 0",
    "sudo or su": "su -c true || sudo -n true",
    "new user namespace": "unshare -Ur true",
    "cgroup release agent": "mount -t cgroup -o rdma cgroup /tmp",
    "kernel log": "dmesg",
    "host namespaces": "nsenter --target 1 --mount --net true && nsenter --net=/proc/1/ns/net ip link",
    "terminal input": "python -c 'import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b\"x\")'",
    "tree by the overlay": "mount -o bind /repo /tmp || touch /proc/1/root/env/x",
}


@pytest.mark.parametrize("kind", BACKENDS)
def test_known_ways_out(tiny_tree: Tree, kind: str) -> None:
    before = Path("/proc/sys/kernel/core_pattern").read_text()
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        # Each in a shell of its own, in one go: a command in docker takes its time.
        names = list(ATTEMPTS)
        for number, name in enumerate(names):
            session.write(f"try/{number}", f"{ATTEMPTS[name]}\n".encode())
        script = 'for n in "$@"; do sh try/$n >/dev/null 2>&1 </dev/null && echo $n; done; true'
        result = session.exec(["sh", "-c", script, "sh", *map(str, range(len(names)))])
        assert result.exit_code == 0
        assert [names[int(number)] for number in result.stdout.split()] == []
    assert Path("/proc/sys/kernel/core_pattern").read_text() == before


@pytest.mark.parametrize("kind", BACKENDS)
def test_neither_tree_can_be_changed_in_any_way(tiny_tree: Tree, kind: str) -> None:
    def state(root: Path) -> dict[str, tuple[int, float, bytes]]:
        return {
            str(path): (path.stat().st_mode, path.stat().st_mtime, path.read_bytes())
            for path in sorted(root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }

    before = state(tiny_tree.repo), state(tiny_tree.environment)
    script = (
        "rm -rf /repo/* /repo/.[a-z]* /env/* ; echo x > /repo/new; chmod -R 777 /repo /env;"
        "for f in $(find /env -type f | head -50); do (echo x >> $f); done 2>/dev/null;"
        "ln /env/pyvenv.cfg /tmp/hard && echo x >> /tmp/hard;"
        "touch -d 2000-01-01 /env/pyvenv.cfg; true"
    )
    with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
        assert session.exec(["sh", "-c", script]).exit_code == 0
        assert session.files() == ["new"]
    assert (state(tiny_tree.repo), state(tiny_tree.environment)) == before


@pytest.mark.parametrize("kind", [*BACKENDS, "process"])
def test_our_own_file_access_is_not_led_astray(tiny_tree: Tree, kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    plants = {
        "to a file": (f"ln -s {victim} trap", "trap"),
        "to a folder": (f"ln -s {tmp_path} trap", "trap/victim"),
        "up and out": (f"ln -s {'../' * 12}{str(victim)[1:]} trap", "trap"),
        "by a chain": (f"ln -s {tmp_path} one; ln -s one/victim trap", "trap"),
        "by our own process": (f"ln -s /proc/self/root{victim} trap", "trap"),
        "by our working folder": ("ln -s /proc/self/cwd trap", "trap/pyproject.toml"),
    }
    for name, (plant, path) in plants.items():
        with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
            session.exec(["sh", "-c", plant])
            for attempt in (session.read, session.exists, lambda p, s=session: s.write(p, b"pwned")):
                with pytest.raises(UnsafePathError):
                    attempt(path)
            assert "untouched" not in session.diff(), name
        if kind == "docker" and name == "up and out":
            break  # the same code for all; each container takes a second
    assert victim.read_text() == "untouched"


def test_results_are_collected_without_following_links(tiny_tree: Tree, tmp_path: Path) -> None:
    secret, target = tmp_path / "secret", tmp_path / "collected"
    secret.write_text("s3cret")
    script = (
        f'cd "$FLYWHEEL_COLLECT"; ln -s {secret} link; ln -s {tmp_path} folder; mkfifo pipe;'
        "ln -s . loop; mkdir -p a/b; ln -s ../../.. a/b/up; echo fine > a/b/result; chmod 000 a/b"
    )
    for kind in ("bubblewrap", "bubblewrap-copy", "process"):
        with sandbox_of(kind).open(tiny_tree, limits=SMALL) as session:
            assert session.exec(["sh", "-c", script], collect=target / kind).exit_code == 0
        found = [path for path in (target / kind).rglob("*") if not path.is_dir()]
        assert [path.name for path in found] in (["result"], [])
        assert os.geteuid() != 0 or found
