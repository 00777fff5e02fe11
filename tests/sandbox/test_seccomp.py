"""The filter does what its list says, on both machines that it knows."""

import struct

import pytest

from components.sandbox import seccomp

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050026, 0x80000000


def run(program: bytes, audit: int, number: int) -> int:
    """What the kernel would answer."""
    lines = list(struct.iter_unpack("=HBBI", program))
    position, value = 0, 0
    while True:
        code, yes, no, operand = lines[position]
        position += 1
        if code == 0x20:
            value = {0: number, 4: audit}[operand]
        elif code == 0x15:
            position += yes if value == operand else no
        elif code == 0x35:
            position += yes if value >= operand else no
        elif code == 0x06:
            return int(operand)


@pytest.mark.parametrize(
    ("machine", "audit", "column"), [("x86_64", 0xC000003E, 0), ("aarch64", 0xC00000B7, 1)]
)
def test_every_listed_call_is_refused_and_no_other(machine: str, audit: int, column: int) -> None:
    program = seccomp.program(machine)
    listed = {pair[column] for pair in seccomp.REFUSED.values()}
    assert len(listed) == len(seccomp.REFUSED)
    for number in range(600):
        assert run(program, audit, number) == (REFUSE if number in listed else ALLOW)
    assert run(program, audit, 0x40000000 + 59) == REFUSE  # the other calling convention
    assert run(program, 0x40000003, 11) == KILL  # 32-bit programs


def test_no_filter_where_the_numbers_are_not_known() -> None:
    assert seccomp.program("riscv64") == b""
