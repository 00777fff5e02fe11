"""The one way out for results: a Python audit hook that alone holds the signing key.

Code under test shares the process with us, so a key in any object that it can reach would be a key it can
use. An audit hook is referenced by the interpreter only: no frame, module or closure on the stack leads to
it, and walking the heap for it raises an audit event itself, which is written down before the walk begins.
Records are sent with `sys.audit("flywheel.emit", record)`, and the hook looks at who is calling.
"""
# No pathlib here: it is Python code that somebody could have replaced.
# ruff: noqa: PTH118

import os
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any, NamedTuple

EMIT = "flywheel.emit"
DONE = "flywheel.done"

_KINDS = {
    "gc.get_objects": "introspection",
    "gc.get_referrers": "introspection",
    "gc.get_referents": "introspection",
    "sys._current_frames": "introspection",
    "sys._current_exceptions": "introspection",
    "sys._getframe": "frame",
    "sys._getframemodulename": "frame",
    "sys.settrace": "tracing",
    "sys.setprofile": "tracing",
    "sys.addaudithook": "tracing",
    "object.__setattr__": "code_patch",
    "exec": "dynamic_code",
    "compile": "dynamic_code",
    "code.__new__": "dynamic_code",
    "function.__new__": "dynamic_code",
    "marshal.loads": "dynamic_code",
    "pickle.find_class": "dynamic_code",
    "ctypes.dlopen": "native",
    "ctypes.dlsym": "native",
    "ctypes.dlsym/handle": "native",
    "ctypes.cdata": "native",
    "ctypes.cdata/buffer": "native",
    "ctypes.string_at": "native",
    "ctypes.wstring_at": "native",
    "ctypes.call_function": "native",
    "socket.connect": "network",
    "socket.bind": "network",
    "socket.getaddrinfo": "network",
    "socket.gethostbyname": "network",
    "socket.sendto": "network",
    "socket.sendmsg": "network",
    "subprocess.Popen": "process",
    "os.system": "process",
    "os.exec": "process",
    "os.fork": "process",
    "os.forkpty": "process",
    "os.posix_spawn": "process",
    "os.spawn": "process",
    "os.kill": "signal",
    "os.killpg": "signal",
    "signal.pthread_kill": "signal",
    "resource.setrlimit": "signal",
    "resource.prlimit": "signal",
    "open": "write_outside",
    "os.remove": "write_outside",
    "os.rename": "write_outside",
    "os.mkdir": "write_outside",
    "os.rmdir": "write_outside",
    "os.truncate": "write_outside",
    "os.chmod": "write_outside",
    "os.link": "write_outside",
    "os.symlink": "write_outside",
    "os.listdir": "proc_access",
    "os.scandir": "proc_access",
}
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FREE = ("/tmp/", "/dev/", "/proc/self/fd/")
_CODE_ATTRIBUTES = ("__code__", "__globals__", "__class__")
# Modules of the standard library that run text for whoever asks.
_RUNNERS = (
    "/timeit.py",
    "/code.py",
    "/codeop.py",
    "/doctest.py",
    "/bdb.py",
    "/pdb.py",
    "/trace.py",
    "/runpy.py",
)
_MAX_EVENTS = 200


def _encoder() -> Callable[[Any], str]:
    # The C encoder runs no Python code that somebody could have replaced.
    from json import JSONEncoder, encoder

    make: Any = getattr(encoder, "c_make_encoder", None)
    quote: Any = getattr(encoder, "c_encode_basestring_ascii", None)
    if make is None or quote is None:
        return JSONEncoder(sort_keys=True).encode
    encode = make(None, repr, quote, None, ":", ",", True, False, True)
    join = "".join
    return lambda value: join(encode(value, 0))


def _suspicious_path(event: str, kind: str, args: tuple[Any, ...], root: str) -> "tuple[str, str] | None":
    """(kind, path) of a path that the event has no business with."""
    paths = args[:2] if event in ("os.rename", "os.link", "os.symlink") else args[:1]
    for path in paths:
        if isinstance(path, bytes):
            path = path.decode("utf-8", "replace")
        if not isinstance(path, str) or (not path.startswith("/") and ".." not in path):
            continue
        if not path.startswith("/"):
            path = os.path.join(root, path)
        path = os.path.normpath(path)
        if path.startswith("/proc/") and not path.startswith("/proc/self/fd/1"):
            return "proc_access", path
        if kind == "proc_access" or path == root or (path + "/").startswith((root + "/", *_FREE)):
            continue
        if event == "open":
            mode, flags = args[1], args[2]
            writes = any(c in mode for c in "wax+") if isinstance(mode, str) else bool(flags & _WRITE_FLAGS)
            if not writes:
                continue
        return kind, path
    return None


class Speakers(NamedTuple):
    """Who may emit: the top of the stack has to look exactly like this."""

    emitters: "frozenset[CodeType]"
    """Calls `sys.audit`,"""
    drivers: "frozenset[CodeType]"
    """called by the driver itself,"""
    plugin: "frozenset[CodeType]"
    """or by a method of the plugin,"""
    callers: "dict[str, Any]"
    """called by pluggy: the globals of the module that calls hooks."""

    def include(self, frame: "FrameType | None") -> bool:
        """Whether this is one of them."""
        if frame is None or frame.f_code not in self.emitters or frame.f_back is None:
            return False
        above = frame.f_back
        if above.f_code in self.drivers:
            return True
        further = above.f_back
        return above.f_code in self.plugin and further is not None and further.f_globals is self.callers


def install(
    path: str,
    key: bytes,
    root: str,
    speakers: "Speakers",
    trusted: Iterable[str],
    watch: "dict[str, list[int]]",
    check: Callable[[bool], "list[str]"],
) -> None:
    """Open the result file and install the hook.

    Args:
        path: Result file; must not exist yet.
        key: Signs the records; not kept anywhere else.
        root: The repository.
        speakers: Who may emit.
        trusted: Prefixes of reference test files (absolute), which may be on the stack of an emitter.
        watch: File -> lines whose doings are reported: what a submission added.
        check: Says which functions of the test framework are no longer what they were; True: quick.
    """
    from _thread import allocate_lock
    from hashlib import blake2b

    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    os.set_inheritable(fd, False)
    getpid, write, getframe, encode = os.getpid, os.write, sys._getframe, _encoder()
    pid, lock, prefix, allowed = getpid(), allocate_lock(), root + "/", tuple(trusted)
    kinds, sequence = dict(_KINDS), 0
    seen: set[tuple[Any, ...]] = set()
    watched = {prefix + name: frozenset(lines) for name, lines in watch.items()}
    nothing: frozenset[int] = frozenset()

    def send(record: "dict[str, Any]") -> None:
        nonlocal sequence
        with lock:
            record["seq"] = sequence
            sequence += 1
            body = encode(record).encode("ascii")
            line = memoryview(
                blake2b(body, key=key, digest_size=16).hexdigest().encode() + b" " + body + b"\n"
            )
            while line:
                line = line[write(fd, line) :]

    def inside(frame: "FrameType | None", limit: int) -> "list[list[Any]]":
        out: list[list[Any]] = []
        while frame is not None and len(out) < limit:
            code = frame.f_code
            if code.co_filename.startswith(prefix):
                out.append([code.co_filename[len(prefix) :], frame.f_lineno, code.co_name])
            frame = frame.f_back
        return out

    def emit(caller: "FrameType | None", done: bool, record: Any) -> None:
        frames = [
            entry
            for entry in inside(caller, 20)
            if not (prefix + entry[0]).startswith(allowed) and entry[0].rpartition("/")[2] != "conftest.py"
        ]
        if frames or not speakers.include(caller) or type(record) is not dict:
            send({"kind": "event", "event": "forged_record", "detail": "", "frames": inside(caller, 20)})
            return
        # After each call of a test, and of everything at the end.
        if done or (record["kind"] == "phase" and record["when"] == "call"):
            record["problems"] = [*record.get("problems", ()), *check(not done)]
        send(record)

    def caused(frame: "FrameType | None", limit: int) -> bool:
        while frame is not None and limit:
            if frame.f_lineno in watched.get(frame.f_code.co_filename, nothing):
                return True
            frame, limit = frame.f_back, limit - 1
        return False

    def hook(event: str, args: "tuple[Any, ...]") -> None:
        if event in (EMIT, DONE):
            if getpid() == pid:
                emit(getframe(0).f_back, event == DONE, args[0])
            return
        kind = kinds.get(event) if watched else None
        if kind is None or len(seen) >= _MAX_EVENTS or getpid() != pid:
            return
        if event == "sys._getframe" and args[0].f_code is mine:
            return  # our own question, next line
        detail, frame = event, getframe(0).f_back
        if kind == "frame":
            # Asking for a frame is what namedtuple and logging do; only the asker is looked at.
            if not caused(frame, 1):
                return
        elif kind == "code_patch":
            if args[1] not in _CODE_ATTRIBUTES or not caused(frame, -1):
                return
        elif kind in ("write_outside", "proc_access"):
            found = _suspicious_path(event, kind, args, root)
            if found is None or not caused(frame, -1):
                return
            kind, detail = found[0], f"{event} {found[1]}"
        elif kind == "dynamic_code":
            # Not further up: dataclasses, namedtuples and imports compile things for honest code.
            runs_text = frame is not None and frame.f_code.co_filename.endswith(_RUNNERS)
            if not caused(frame, -1 if runs_text else 1):
                return
        elif not caused(frame, -1):
            return
        frames = inside(frame, 12)
        mark = (kind, detail, tuple((entry[0], entry[1]) for entry in frames))
        if mark not in seen:
            seen.add(mark)
            send({"kind": "event", "event": kind, "detail": detail[:300], "frames": frames})

    mine = hook.__code__
    sys.addaudithook(hook)
