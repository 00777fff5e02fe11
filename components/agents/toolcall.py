"""The text form of a tool call (the XML style of SWE-smith and OpenHands), one call a turn.

    <function=edit>
    <parameter=path>toolz/x.py</parameter>
    <parameter=old>    return x
    </parameter>
    </function>

Values are kept exactly, indentation and line ends included. The one text that a value cannot hold as it
is, its own closing tag, gets a backslash, as do its escaped forms: rendering and parsing are inverse.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_OPEN = re.compile(rf"<function=({_NAME})>[ \t]*\n?")
_PARAMETER = re.compile(rf"\s*<parameter=({_NAME})>")
_CLOSE = re.compile(r"\s*</function>\s*\Z")
_ESCAPE = re.compile(r"<(\\*)/parameter>")
_UNESCAPE = re.compile(r"<\\(\\*)/parameter>")


class MalformedCall(ValueError):
    """A turn that holds no call, or not exactly one, or one that is cut off."""


@dataclass(frozen=True)
class Call:
    """A tool call, and the line of thought before it."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    thought: str = ""


def render(call: Call) -> str:
    """The text of a call."""
    lines = [call.thought] if call.thought else []
    lines.append(f"<function={call.name}>")
    for key, value in call.arguments.items():
        escaped = _ESCAPE.sub(r"<\\\1/parameter>", value)
        lines.append(f"<parameter={key}>{escaped}</parameter>")
    lines.append("</function>")
    return "\n".join(lines)


def parse(text: str) -> Call:
    """The one call of a turn.

    Raises:
        MalformedCall: says what is wrong, in words meant for the model.
    """
    start = _OPEN.search(text)
    if start is None:
        raise MalformedCall("no <function=...> call found")
    thought, position = text[: start.start()], start.end()
    if "<parameter=" in thought or "</function>" in thought:
        raise MalformedCall("text before <function=...> holds other tags")
    arguments: dict[str, str] = {}
    while parameter := _PARAMETER.match(text, position):
        key, begin = parameter.group(1), parameter.end()
        end = text.find("</parameter>", begin)
        if end < 0:
            raise MalformedCall(f"parameter {key} is not closed")
        if key in arguments:
            raise MalformedCall(f"parameter {key} is given twice")
        arguments[key] = _UNESCAPE.sub(r"<\1/parameter>", text[begin:end])
        position = end + len("</parameter>")
    if _CLOSE.match(text, position) is None:
        rest = text[position:].strip()
        if not rest:
            raise MalformedCall("</function> is missing")
        if rest.startswith("</function>"):
            second = "more than one call" if "<function=" in rest else "text"
            raise MalformedCall(f"{second} after </function>")
        raise MalformedCall("unexpected text between the tags")
    return Call(start.group(1), arguments, thought.removesuffix("\n"))
