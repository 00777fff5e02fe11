"""Small helpers for text that a model reads."""

import re

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def stable(text: str) -> str:
    """Text without what differs from run to run: addresses of objects."""
    return _ADDRESS.sub("0x...", text)


def clipped(text: str, limit: int) -> str:
    """Head and tail of a long text."""
    if len(text) <= limit:
        return text
    half = (limit - 20) // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters]\n{text[-half:]}"


def one_line(text: str, limit: int) -> str:
    """The first line of a text, cut."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else f"{line[: limit - 3].rstrip()}..."
