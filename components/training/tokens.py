"""Messages to token ids and labels: loss on the turns marked for training, and nowhere else.

The text is cut where a trained turn begins and ends, and each piece is tokenised by itself, so that the
trained tokens are those a model would emit after the same prompt (TRL issue 4147). Works with every chat
template whose rendering of a conversation begins with the rendering of its first turns; a template that is not
prefix-preserving (Qwen3 strips old thoughts) is refused instead of being trained on wrongly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from components.records.errors import InputError
from components.records.training import Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORE = -100


@dataclass(frozen=True)
class Encoded:
    """Two lists of the same length: token ids, and labels that are the id or -100."""

    input_ids: list[int]
    labels: list[int]

    @property
    def trained(self) -> int:
        """How many tokens carry loss."""
        return sum(label != IGNORE for label in self.labels)


def encode(
    tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message], max_length: int
) -> Encoded | None:
    """Token ids and labels of one example; None when no trained turn fits into `max_length` tokens.

    A row that is too long ends after its last whole trained turn, so that no row teaches a model to stop in the
    middle or never (open-instruct issue 1876).

    Raises:
        InputError: the template is not prefix-preserving, or a trained turn does not end with the stop token.
    """
    chat = [{"role": message.role, "content": message.content} for message in messages]
    whole = _render(tokenizer, chat, prompt=False)
    ids: list[int] = []
    labels: list[int] = []
    kept = 0
    done = 0
    for index, message in enumerate(messages):
        if message.role != "assistant" or not message.train:
            continue
        before = _render(tokenizer, chat[:index], prompt=True)
        after = _render(tokenizer, chat[: index + 1], prompt=False)
        if not (whole.startswith(before) and whole.startswith(after)):
            raise InputError(
                "the chat template changes earlier turns as the conversation grows; cannot mask it"
            )
        turn = after[len(before) :].rstrip("\n")
        if not turn.endswith(str(tokenizer.eos_token)):
            raise InputError(f"the chat template does not end a turn with {tokenizer.eos_token!r}")
        context = _tokens(tokenizer, whole[done : len(before)])
        target = _tokens(tokenizer, turn)
        ids += context + target
        labels += [IGNORE] * len(context) + target
        done = len(before) + len(turn)
        if len(ids) <= max_length:
            kept = len(ids)
    return Encoded(ids[:kept], labels[:kept]) if kept else None


def _render(tokenizer: "PreTrainedTokenizerBase", chat: list[dict[str, str]], *, prompt: bool) -> str:
    return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompt))


def _tokens(tokenizer: "PreTrainedTokenizerBase", text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
