"""Which tokens go along a text: the part of guided decoding that knows of tokens.

As in grammar-constrained decoding (Willard and Louf 2023, "Efficient Guided Generation for LLMs"), tokens that
cannot lead to an allowed turn are out before one is sampled.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from components.agents.models.base import Continuations
from components.agents.models.kv import common

_LONGEST = 24
"""Characters of a token that are looked at: few are longer, and shorter ones lead to the same texts."""

_LAST = re.compile(r"(\s?\w+|[^\w\s]+|\s+)\Z")
"""What the last token of a text may be a part of."""


def certain(ahead: Continuations) -> str:
    """The text that follows in any case, up to where its last token might be longer than the text."""
    texts = sorted({*ahead.closed, *ahead.open})
    if not texts:
        return ""
    if len(texts) == 1 and ahead.closed:
        return texts[0]
    return _LAST.sub("", texts[0][: common(texts[0], texts[-1])])


class Vocabulary:
    """The texts of a tokenizer's tokens, to be looked up by what they begin with."""

    def __init__(self, tokenizer: Any) -> None:
        special = set(tokenizer.all_special_ids)
        ids = [token for token in sorted(tokenizer.get_vocab().values()) if token not in special]
        texts = tokenizer.batch_decode([[token] for token in ids])
        # A token that holds a part of a character has no text of its own.
        pairs = sorted((text, token) for text, token in zip(texts, ids, strict=True) if "\ufffd" not in text)
        self._texts = [text for text, _ in pairs]
        self._ids = [token for _, token in pairs]
        self._known: dict[str, list[int]] = {}
        for text, token in pairs:
            self._known.setdefault(text, []).append(token)

    def along(self, ahead: Continuations) -> list[int]:
        """Tokens that are the beginning of a text that may follow, or go beyond one that leaves it open."""
        found: set[int] = set()
        before = ""
        for text in sorted(text[:_LONGEST] for text in {*ahead.closed, *ahead.open}):
            if text == before:
                continue  # hundreds of functions begin with the same path
            shared = common(before, text)
            for end in range(shared + 1, len(text) + 1):
                found.update(self._known.get(text[:end], ()))
            before = text
        for text in ahead.open:
            if len(text) < _LONGEST:
                found.update(self._beyond(text))
        return sorted(found)

    def _beyond(self, text: str) -> Iterable[int]:
        at = bisect_left(self._texts, text)
        while at < len(self._texts) and self._texts[at].startswith(text):
            yield self._ids[at]
            at += 1
