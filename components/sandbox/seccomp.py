"""A filter of system calls that no test needs, and through which a command could get out or use us up.

`memfd_create` and System V shared memory would hold memory that no limit counts; the rest is kernel
surface that escapes are made of. Refused calls fail as if the kernel did not have them. On machines
other than x86-64 and arm64 there is no filter, since the numbers differ.
"""

import os
import platform
import struct
from functools import cache

_ENOSYS = 38
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | _ENOSYS, 0x80000000
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER_OFFSET, _ARCH_OFFSET = 0, 4
_FOREIGN = 0x40000000
"""Numbers from here are those of x86-64's second calling convention, which would evade the list."""

# name -> number on (x86-64, arm64)
REFUSED = {
    "shmget": (29, 194),
    "shmat": (30, 196),
    "semget": (64, 190),
    "msgget": (68, 186),
    "syslog": (103, 116),
    "pivot_root": (155, 41),
    "acct": (163, 89),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "quotactl": (179, 60),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "move_pages": (279, 239),
    "vmsplice": (278, 75),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "finit_module": (313, 273),
    "memfd_create": (319, 279),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
}
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}


@cache
def program(machine: str = platform.machine()) -> bytes:
    """The filter as the kernel takes it; empty where we have none."""
    if machine not in _ARCHITECTURES:
        return b""
    audit, column = _ARCHITECTURES[machine]
    numbers = sorted(pair[column] for pair in REFUSED.values())
    # Layout: check the architecture, load the number, refuse foreign and listed numbers, allow.
    lines = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_JUMP_EQUAL, 1, 0, audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_AT_LEAST, len(numbers) + 1, 0, _FOREIGN),
        *((_JUMP_EQUAL, len(numbers) - index, 0, number) for index, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def sealed(data: bytes, name: str) -> int:
    """A file descriptor from which a child can read `data`; it is the caller's to close."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
