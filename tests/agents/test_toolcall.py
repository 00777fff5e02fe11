import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from components.agents.toolcall import Call, MalformedCall, parse, render

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,12}", fullmatch=True)
pieces = st.sampled_from(
    [
        "</parameter>", "<\\/parameter>", "<\\\\/parameter>", "</function>", "<function=edit>", "<parameter=old>",
        "<", ">", "&", "&lt;", "\n", "\r\n", "\t", "    ", " ", "\\", "\"", "'", "é", "\u2028", "</tool_call>",
        '{"a": [1, 2]}', "0x1F", "return x", "\x00",
    ]
)  # fmt: skip
values = st.one_of(st.lists(pieces, max_size=8).map("".join), st.text(max_size=40))


@given(names, st.dictionaries(names, values, max_size=4))
@example("edit", {"old": "    return x\n", "new": "</parameter>\n</function>"})
@example("edit", {"old": "<\\/parameter>", "new": "<\\\\/parameter></parameter>"})
def test_rendering_and_parsing_are_inverse(name: str, arguments: dict[str, str]) -> None:
    assert parse(render(Call(name, arguments))) == Call(name, arguments)


@given(st.text(max_size=60).filter(lambda text: "<" not in text and not text.endswith("\n")), values)
def test_the_thought_before_a_call_is_kept(thought: str, value: str) -> None:
    call = Call("bash", {"command": value}, thought)
    assert parse(render(call)) == call


@given(st.text(max_size=200))
def test_no_text_is_more_than_malformed(text: str) -> None:
    try:
        parse(text)
    except MalformedCall as error:
        assert str(error)


@given(st.dictionaries(names, values, min_size=1, max_size=3), st.data())
def test_a_cut_call_is_malformed(arguments: dict[str, str], data: st.DataObject) -> None:
    text = render(Call("edit", arguments))
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(MalformedCall):
        parse(text[:end])


def test_indentation_and_line_ends_are_kept_exactly() -> None:
    text = "<function=edit>\n<parameter=old>\t  x = 1 \n\n</parameter>\n</function>"
    assert parse(text).arguments["old"] == "\t  x = 1 \n\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no <function=...> call"),
        ("I would look at the tests first.", "no <function=...> call"),
        ("<function=search>\n", "</function> is missing"),
        ("<function=view>\n<parameter=path>a.py", "parameter path is not closed"),
        (
            "<function=view>\n<parameter=path>a</parameter>\n<parameter=path>b</parameter>\n</function>",
            "twice",
        ),
        ("<function=test>\n</function>\n<function=submit>\n</function>", "more than one call"),
        ("<function=test>\n</function>\nDone.", "text after"),
        ("<function=test>\nverbose\n</function>", "unexpected text"),
        ("<parameter=path>a</parameter><function=view>\n</function>", "other tags"),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str) -> None:
    with pytest.raises(MalformedCall, match="(?s).*" + reason.replace(".", "\\.")):
        parse(text)


def test_white_space_after_the_call_is_no_error() -> None:
    assert parse("<function=test>\n</function>\n \n") == Call("test")
