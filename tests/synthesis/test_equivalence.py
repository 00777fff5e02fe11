"""Mutants that no test could tell from the original are refused before one runs."""

import pytest

from components.records.task import RejectReason
from components.synthesis.edit import Edit
from components.synthesis.equivalence import EquivalenceFilter, same_up_to_order
from components.synthesis.source import ParsedModule
from tests.synthesis.helpers import candidates

SOURCE = "class A:\n    def m(self, a, b):\n        '''doc'''\n        assert a\n        return (a + 1) * b\n"


def judge(old: str, new: str, source: str = SOURCE) -> RejectReason | None:
    module = ParsedModule.parse("m.py", source.encode())
    start = source.encode().index(old.encode())
    refusal = EquivalenceFilter(module).refuse(
        Edit(start, start + len(old.encode()), new, module.functions[0])
    )
    return refusal.reason if refusal else None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("(a + 1) * b", "(a + 2) * b", None),
        ("(a + 1) * b", "((a + 1)) *  b", RejectReason.EQUIVALENT),
        ("(a + 1) * b", "b * (a + 1)", RejectReason.EQUIVALENT),
        ("(a + 1) * b", "(1 + a) * b", RejectReason.EQUIVALENT),
        ("(a + 1) * b", "(a + 0x1) * b", RejectReason.EQUIVALENT),
        ("(a + 1) * b", "(a + True) * b", None),
        ("(a + 1) * b", "(a + 1.0) * b", None),
        ("doc", "documentation", RejectReason.EQUIVALENT),
        ("assert a", "assert not a", RejectReason.EQUIVALENT),
        ("assert a\n", "assert a\n        \n", RejectReason.EQUIVALENT),
        ("(a + 1)", "(a + 1", RejectReason.SYNTAX),
        ("return", "nonlocal a; return", RejectReason.SYNTAX),
        ("return", "break", RejectReason.SYNTAX),
        ("b\n", "b\n        '''open", RejectReason.SYNTAX),
    ],
)
def test_reasons(old: str, new: str, reason: RejectReason | None) -> None:
    assert judge(old, new) == reason


def test_a_changed_handler_is_seen() -> None:
    source = "def f(a):\n    try:\n        a()\n    except KeyError:\n        return 1\n"
    assert judge("KeyError", "IndexError", source) is None


def test_constants_are_compared_with_their_types() -> None:
    source = "def f(a):\n    return a in {1, 2}, (1, 0.0)\n"
    assert judge("{1, 2}", "{1.0, 2}", source) is None
    assert judge("0.0", "-0.0", source) is None
    assert judge("{1, 2}", "{2, 1}", source) is not None


def test_nested_functions_are_compiled_in_their_surroundings() -> None:
    source = (
        "def outer():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    return inner\n"
    )
    assert judge("n += 1", "n += 2", source) is None
    assert judge("n = 0\n", "pass\n", source) is RejectReason.SYNTAX


def test_the_second_of_two_equal_mutants_is_a_duplicate() -> None:
    module = ParsedModule.parse("m.py", b"def f(a):\n    return a == 1\n")
    judge = EquivalenceFilter(module)
    assert judge.refuse(Edit(21, 27, "a != 1", module.functions[0])) is None
    refusal = judge.refuse(Edit(21, 27, "(a != 1)", module.functions[0]))
    assert refusal is not None and refusal.reason is RejectReason.DUPLICATE


def test_the_same_text_by_two_ways_is_a_duplicate() -> None:
    # `x = 1` twice: taking out either line gives the same text.
    found, rejected = candidates("def f(x):\n    x = 1\n    x = 1\n    return x\n")
    removed = [row for row in found if row.strategy.endswith("remove_assignment")]
    assert len(removed) == 1
    reasons = [row.reason for row in rejected if "remove_assignment" in row.candidate_id]
    assert reasons == [RejectReason.DUPLICATE]


def test_every_refusal_has_a_detail() -> None:
    _, rejected = candidates("def f(a):\n    b = 2 + a\n    return None\n    return b\n")
    assert all(row.detail for row in rejected)
    assert any(row.reason is RejectReason.EQUIVALENT for row in rejected)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("a * b", "b * a", True),
        ("a & b", "b & a", True),
        ("a + b", "b + a", False),
        ("a + 1", "1 + a", True),
        ("a - b", "b - a", False),
        ("a == b", "b == a", True),
        ("a < b", "b > a", True),
        ("a < b", "b < a", False),
        ("a and b", "b and a", False),
        ("min(a, b)", "min(b, a)", True),
        ("math.gcd(a, b)", "math.gcd(b, a)", True),
        ("f(a, b)", "f(b, a)", False),
        ("min(a, b, key=f)", "min(b, a, key=f)", False),
        ("[a * b, c]", "[b * a, c]", True),
        ("==", "!=", False),
        ("a if b else c", "c if b else a", False),
    ],
)
def test_same_up_to_order(old: str, new: str, same: bool) -> None:
    assert same_up_to_order(old, new) is same
