"""What guided decoding knows of tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from components.agents.guide import Ahead
from components.agents.models.vocabulary import Vocabulary, certain
from components.store import Store, Workspace, execute
from components.training.base_model import BaseModelStage
from components.training.config import BaseModelConfig


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    store = Store(Workspace(tmp_path_factory.mktemp("vocabulary")))
    dataset = execute(BaseModelStage(), BaseModelConfig(source="random:tiny"), {}, store)
    return AutoTokenizer.from_pretrained(dataset.folder / "files" / "model")


def ahead(closed: list[str], begun: list[str]) -> Ahead:
    return Ahead(frozenset(closed), frozenset(begun))


def test_tokens_along_are_beginnings_of_what_may_follow(tokenizer: Any) -> None:
    vocabulary = Vocabulary(tokenizer)
    texts = ["view>\n", "submit>\n</function>", "sub>"]
    found = {tokenizer.decode([token]) for token in vocabulary.along(ahead(texts, []))}
    assert found and all(any(text.startswith(token) for text in texts) for token in found)
    assert {text[0] for text in texts} <= found  # every text can at least be spelt out


def test_tokens_may_go_beyond_a_text_that_leaves_it_open(tokenizer: Any) -> None:
    vocabulary = Vocabulary(tokenizer)
    closed = vocabulary.along(ahead(["a"], []))
    begun = vocabulary.along(ahead([], ["a"]))
    assert set(closed) < set(begun)
    assert all(tokenizer.decode([token]).startswith("a") for token in begun)


def test_what_is_certain_ends_where_a_token_surely_does() -> None:
    assert certain(ahead(["submit>\n</function>"], [])) == "submit>\n</function>"
    assert certain(ahead(["view>\n<p=a.py", "view>\n<p=abc.py"], [])) == "view>\n<p="
    assert certain(ahead([], ["<parameter=new>"])) == "<parameter=new"
    assert certain(ahead(["a", "b"], [])) == certain(ahead([], [])) == ""
    assert certain(ahead(["    return x\n", "    return y\n"], [])) == "    return"


@given(st.lists(st.text("ab =>\n", max_size=8), min_size=1, max_size=4))
def test_what_is_certain_begins_every_text(texts: list[str]) -> None:
    for way in (ahead(texts, []), ahead([], texts), ahead(texts[:1], texts[1:])):
        assert all(text.startswith(certain(way)) for text in texts)
