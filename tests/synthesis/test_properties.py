"""What holds for every candidate of any file: on real code, and on code made up by hypothesis."""

import ast
import subprocess
import warnings
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.records.task import Candidate
from components.synthesis.candidates import apply, propose
from components.synthesis.procedural import REWRITERS
from components.synthesis.source import ParsedModule
from tests.synthesis.helpers import candidates, standard_library

MODULES = ("bisect", "textwrap", "heapq", "contextlib", "queue", "shlex")


@pytest.fixture(scope="module", params=MODULES)
def real(request: pytest.FixtureRequest) -> tuple[bytes, list[Candidate]]:
    data = standard_library(request.param)
    return data, candidates(data, max_lines=None)[0]


def test_only_the_span_changes_and_the_file_compiles(real: tuple[bytes, list[Candidate]]) -> None:
    data, found = real
    texts = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in found[:: max(1, len(found) // 150)]:
            text = apply(data, row)
            assert text[: row.start] == data[: row.start]
            assert text[len(text) - (len(data) - row.end) :] == data[row.end :]
            compile(text, "m.py", "exec", dont_inherit=True)
            texts.add(text)
    assert data not in texts
    assert len({apply(data, row) for row in found}) == len(found) == len({row.id for row in found})


def test_every_span_lies_in_the_function_it_names(real: tuple[bytes, list[Candidate]]) -> None:
    data, found = real
    module = ParsedModule.parse("pkg/m.py", data)
    names = {function.qualname for function in module.functions}
    assert {row.function for row in found} <= names
    for row in found:
        spans = [
            (function.node.lineno, function.node.end_lineno or 0)
            for function in module.functions
            if function.qualname == row.function
        ]
        assert any(first <= row.line <= last for first, last in spans)


def test_most_rewriters_find_something_in_real_code() -> None:
    found: Counter[str] = Counter()
    for name in MODULES:
        found.update(row.strategy for row in candidates(standard_library(name), max_lines=None)[0])
    missing = {f"procedural.{rewriter.name}" for rewriter in REWRITERS} - found.keys()
    assert missing <= {"procedural.drop_minus", "procedural.swap_ternary"}


def test_git_applies_every_patch_and_takes_it_back(tmp_path: Path) -> None:
    data = standard_library("shlex")
    found = candidates(data, max_lines=None)[0]
    file = tmp_path / "pkg" / "m.py"
    file.parent.mkdir()
    file.write_bytes(data)
    for row in found[:: len(found) // 40]:
        for options, expected in ((["apply"], apply(data, row)), (["apply", "--reverse"], data)):
            subprocess.run(["git", *options], cwd=tmp_path, input=row.bug_patch.encode(), check=True)
            assert file.read_bytes() == expected


def test_one_line_is_one_line() -> None:
    for row in candidates(standard_library("textwrap"))[0]:
        body = row.bug_patch.splitlines()[3:]
        assert sum(line.startswith("-") for line in body) <= 1
        assert sum(line.startswith("+") for line in body) <= 1


def test_the_same_file_gives_the_same_candidates() -> None:
    data = standard_library("heapq")
    assert candidates(data) == candidates(data)


NAMES = st.sampled_from(["a", "b", "naïve", "x1"])
ATOMS = st.one_of(
    NAMES,
    st.integers(0, 300).map(str),
    st.sampled_from(["True", "None", "'ключ'", "'''multi\n  line'''", "b'x'", "0.5", "f'{a}'"]),
)


def _compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = ["+", "-", "*", "//", "%", "==", "<", "is not", "not in", "and", "or", "**", "<<", "|"]
    return st.one_of(
        st.tuples(inner, st.sampled_from(operators), inner).map(lambda t: f"({t[0]}) {t[1]} {t[2]}"),
        st.tuples(inner, st.sampled_from(operators), inner).map(
            lambda t: f"({t[0]}{' '}{t[1]} # < and\n{t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"f({t[0]}, {t[1]}, k=({t[0]}))"),
        st.tuples(inner, inner).map(lambda t: f"(a)[({t[0]}):{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"(({t[0]}) if {t[1]} else({t[2]}))"),
        inner.map(lambda text: f"(not({text}))"),
        inner.map(lambda text: f"(-({text}))"),
        inner.map(lambda text: f"list({text})"),
        inner.map(lambda text: f"[y for y in ({text}) if (y)]"),
    )


EXPRESSIONS = st.recursive(ATOMS, _compound, max_leaves=6)


def _block(statements: list[str], indent: str) -> str:
    return "".join(f"{indent}{text}\n" for text in statements)


STATEMENTS = st.one_of(
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]} = ({t[1]})"),
    st.tuples(NAMES, EXPRESSIONS).map(lambda t: f"{t[0]}+=({t[1]}); b = 1 # tail"),
    EXPRESSIONS.map(lambda text: f"return({text})"),
    EXPRESSIONS.map(lambda text: f"if({text}): return b, a"),
    EXPRESSIONS.map(lambda text: f"while({text}): b = a"),
    EXPRESSIONS.map(lambda text: f"f({text})"),
    EXPRESSIONS.map(lambda text: f"raise KeyError({text})"),
)


@st.composite
def sources(draw: st.DrawFn) -> bytes:
    indent = draw(st.sampled_from(["    ", "\t", " "]))
    newline = draw(st.sampled_from([b"\n", b"\r\n"]))
    body = draw(st.lists(STATEMENTS, min_size=1, max_size=4))
    form = draw(st.sampled_from(["def", "async def"]))
    text = f"{form} f(a, b=1, *, naïve=None):\n{_block(body, indent)}"
    if draw(st.booleans()):
        nested = draw(st.lists(STATEMENTS, min_size=1, max_size=2))
        text = f"class C:\n{indent}@d(1 == 1)\n{indent}{form} f(a, x1=0):\n{_block(nested, indent * 2)}{text}"
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    mark = draw(st.sampled_from([b"", b"\xef\xbb\xbf"]))
    return mark + text.encode().replace(b"\n", newline)


@settings(max_examples=60, deadline=None)
@given(data=sources())
def test_made_up_code(data: bytes) -> None:
    module = ParsedModule.parse("pkg/m.py", data)
    proposals = propose("demo@1.0", module, max_lines=None)
    for proposal in proposals.kept:
        assert proposal.edit.splice(data)[: proposal.edit.start] == data[: proposal.edit.start]
    found, _ = candidates(data, max_lines=None)
    original = ast.dump(module.tree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in found:
            text = apply(data, row)
            tree = ast.parse(text)
            assert ast.dump(tree) != original
            assert (
                data.count(b"\r") - text.count(b"\r") == data.count(b"\n") - text.count(b"\n")
                or b"\r" not in data
            )


@settings(max_examples=40, deadline=None)
@given(data=sources())
def test_rewriters_yield_no_broken_code_of_their_own(data: bytes) -> None:
    _, rejected = candidates(data, max_lines=None)
    broken = [row for row in rejected if row.reason == "syntax"]
    assert not broken, broken
