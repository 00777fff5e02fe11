"""Head and tail of a stream."""

import re

from hypothesis import given
from hypothesis import strategies as st

from components.sandbox.capture import HeadTail


@given(chunks=st.lists(st.binary(max_size=40), max_size=20), limit=st.integers(1, 60))
def test_keeps_both_ends_and_counts_the_rest(chunks: list[bytes], limit: int) -> None:
    kept, whole = HeadTail(limit), b"".join(chunks)
    for chunk in chunks:
        kept.add(chunk)
    assert kept.total == len(whole)
    assert kept.truncated == (len(whole) > limit)
    if not kept.truncated:
        assert kept.text() == whole.decode("utf-8", "replace")
        return
    head, tail = whole[: limit // 2], whole[len(whole) - (limit - limit // 2) :]
    note = f"\n... [{len(whole) - limit} bytes left out] ...\n"
    assert kept.text() == head.decode("utf-8", "replace") + note + tail.decode("utf-8", "replace")


def test_memory_does_not_grow() -> None:
    kept = HeadTail(1000)
    for _ in range(2000):
        kept.add(b"x" * 100_000)
    assert len(kept.text()) < 1100
    assert re.search(r"\[199999000 bytes left out\]", kept.text())
