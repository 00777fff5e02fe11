"""Spans are byte spans: what lies around an edit never changes."""

import ast

import pytest

from components.synthesis.source import ParsedModule, UnreadableSourceError
from tests.synthesis.helpers import candidates, lines, mutants, rewritten


def test_multi_line_string_in_a_method_is_kept() -> None:
    # SWE-smith dedents an entity and indents it again, which changes such a string.
    source = '''\
class A:
    def m(self, x):
        text = """
  two
        eight
\ttab
"""
        return x == text
'''
    (changed,) = rewritten("compare_flip", source)
    assert changed == source.replace("==", "!=")


def test_tabs_and_continuation_lines() -> None:
    source = "class A:\n\tdef m(self, a, b):\n\t\tif a and \\\n\t\t\t\tb:\n\t\t\treturn a\n"
    assert rewritten("boolean", source) == [source.replace("and", "or")]
    assert candidates(source)[0]


def test_crlf() -> None:
    data = b"def f(a, b):\r\n    c = a\r\n    if a == b:\r\n        return c\r\n"
    found = mutants(data)
    assert data.replace(b"==", b"!=") in found.values()
    assert data.replace(b"    c = a\r\n", b"") in found.values()
    assert all(text.count(b"\n") == text.count(b"\r\n") for text in found.values())


def test_lone_carriage_returns_and_form_feeds_end_no_wrong_line() -> None:
    data = b"X = 1\r\x0cdef f(a):\r    return a == 1 # \xe2\x80\xa8 \x0b\n\ndef g(b):\n    return b == 2\n"
    found = set(mutants(data).values())
    assert data.replace(b"a == 1", b"a != 1") in found
    assert data.replace(b"b == 2", b"b != 2") in found


def test_columns_are_bytes() -> None:
    source = "def f(naïve, b):\n    return 'äöü€😀', naïve == b, naïve < b\n"
    assert rewritten("compare_flip", source) == [source.replace("==", "!="), source.replace("<", ">")]


def test_byte_order_mark() -> None:
    data = b"\xef\xbb\xbfdef f(a): return a == 1\n"
    assert data.replace(b"==", b"!=") in mutants(data).values()


def test_no_newline_at_the_end() -> None:
    data = b"def f(a):\n    b = 1\n    a = 2"
    found = set(mutants(data).values())
    assert b"def f(a):\n    b = 1\n    pass" in found
    assert b"def f(a):\n    a = 2" in found


def test_comments_between_operands_are_no_operators() -> None:
    source = "def f(a, b):\n    return (a  # is a < b?\n        < b)\n"
    (changed,) = rewritten("compare_flip", source)
    assert changed == "def f(a, b):\n    return (a  # is a < b?\n        > b)\n"


def test_async_functions_and_methods() -> None:
    source = "class A:\n    async def m(self, a):\n        async for x in a:\n            await (x == 1)\n"
    (changed,) = rewritten("compare_flip", source)
    assert changed == source.replace("==", "!=")
    assert {row.function for row in candidates(source)[0]} == {"A.m"}


def test_nested_functions_are_not_extracted_twice() -> None:
    source = """\
    def outer(a):
        def inner(b):
            return b == 1
        class C:
            def m(self, c):
                return c == 2
        return inner, C
    """
    found = [row for row in candidates(source)[0] if row.strategy.endswith("compare_flip")]
    assert [row.function for row in found] == ["outer.inner", "outer.C.m"]


def test_decorators_stay() -> None:
    source = "@deco(1 == 2)\n@other\ndef f(a):\n    return a == 1\n"
    assert rewritten("compare_flip", source) == [source.replace("a == 1", "a != 1")]
    assert candidates(source)[0]


@pytest.mark.parametrize(
    "source",
    [
        "x = 1 == 2\n",
        "class A:\n    x = 1 == 2\n",
        "if __name__ == '__main__':\n    def f(a): return a == 1\n",
        "def f():\n    if TYPE_CHECKING:\n        x = 1 == 2\n",
        "def f():\n    if typing.TYPE_CHECKING:\n        x = 1 == 2\n",
        "def f(a: 1 == 2, *b: 1 == 2) -> 1 == 2: pass\n",
        "def f():\n    a: 1 == 2\n",
        "@overload\ndef f(a): return a == 1\n",
        "def f(a):\n    assert a == 1\n",
        "def f(a):\n    return f'{a == 1}'\n",
        "def f(a):\n    'a == 1'\n",
        "def f(a):\n    match a:\n        case 1 | 2: pass\n",
    ],
)
def test_left_alone(source: str) -> None:
    assert lines("compare_flip", source) == []
    assert not any("1 == 2" in line for row in candidates(source)[0] for line in changed_lines(row.bug_patch))


def changed_lines(patch: str) -> list[str]:
    return [line for line in patch.split("@@")[-1].splitlines() if line[:1] in "+-"]


def test_guards_themselves_stay() -> None:
    assert candidates("def f():\n    if TYPE_CHECKING:\n        x = 1\n")[0] == []


def test_a_function_that_does_not_compile_alone() -> None:
    # The line before the backslash gives the indentation: 2, not 6.
    source = "class A:\n  \\\n      def f(a):\n    return a == 1\n"
    assert "a != 1" in "".join(row.bug_patch for row in candidates(source)[0])


def test_guards_spare_their_else() -> None:
    source = "def f(a):\n    if TYPE_CHECKING:\n        pass\n    else:\n        return a == 1\n"
    assert rewritten("compare_flip", source) == [source.replace("==", "!=")]


def test_docstrings_and_repr_texts_stay() -> None:
    source = """\
    class A:
        def __repr__(self):
            '''Documentation.'''
            return self.name == 'abc'
    """
    assert lines("string_literal", source) == []
    assert not any(
        "Documentation" in row.bug_patch.split("@@")[-1].split("+", 1)[-1] for row in candidates(source)[0]
    )


def test_a_function_of_one_line() -> None:
    source = "def f(a): a = 1\n"
    assert rewritten("remove_assignment", source) == ["def f(a): pass\n"]


def test_long_elif_chains_do_not_overflow_the_stack() -> None:
    chain = "".join(f"    elif a == {n}:\n        return {n}\n" for n in range(90))
    assert len(rewritten("compare_flip", f"def f(a):\n    if a:\n        pass\n{chain}")) == 90


@pytest.mark.parametrize(
    "data", [b"def f(:\n", b"# coding: latin-1\nx = '\xe4'\n", b"x = '\xff'\n", b"x = 1\0\n", b"("]
)
def test_unreadable(data: bytes) -> None:
    with pytest.raises(UnreadableSourceError, match=r"m\.py"):
        ParsedModule.parse("m.py", data)


def test_a_declared_encoding_matters_only_when_used() -> None:
    data = b"# coding: latin-1\ndef f(a): return a == 1\n"
    assert data.replace(b"==", b"!=") in mutants(data).values()


def test_block_covers_decorators_and_the_whole_last_line() -> None:
    source = "class A:\n    @a\n    @b\n    def m(self):\n        return 1  # one\n    x = 1\n"
    module = ParsedModule.parse("m.py", source.encode())
    start, end = module.block(module.functions[0])
    assert source[start:end] == "    @a\n    @b\n    def m(self):\n        return 1  # one\n"
    assert isinstance(module.tree, ast.Module)
