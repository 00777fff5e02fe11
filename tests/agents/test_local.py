"""transformers in this process, with a tiny random model."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from components.agents.guide import Ahead, Guide
from components.agents.models import make_model, ranking
from components.agents.models.base import ModelReply, ModelRequest
from components.agents.models.config import LocalConfig
from components.agents.models.local import LocalModel
from components.agents.models.ranking import CHOICE, KEPT, PER_TEXT
from components.records.errors import ConfigError
from components.records.training import Message
from components.store import Store, Workspace, execute
from components.training.base_model import BaseModelStage
from components.training.config import BaseModelConfig

WORDS = "the quick brown fox jumps over the lazy dog and runs away from all that noise".split()  # noqa: SIM905


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint as the training stage leaves it."""
    store = Store(Workspace(tmp_path_factory.mktemp("local")))
    dataset = execute(BaseModelStage(), BaseModelConfig(source="random:tiny"), {}, store)
    return dataset.folder / "files" / "model"


@pytest.fixture(scope="module")
def loaded(folder: Path) -> LocalModel:
    return LocalModel(LocalConfig(model=str(folder), dtype="float32"))


@pytest.fixture
def model(loaded: LocalModel) -> LocalModel:
    loaded.begin()
    return loaded


def request(words: int, **fields: Any) -> ModelRequest:
    chat = (Message(role="system", content="Fix it."), Message(role="user", content=" ".join(WORDS[:words])))
    return ModelRequest(**{"task_id": "t", "messages": chat, "max_tokens": 12, **fields})


def ids(replies: Sequence[ModelReply]) -> list[tuple[int, ...]]:
    return [reply.token_ids for reply in replies]


def reference(model: LocalModel, asked: ModelRequest) -> tuple[int, ...]:
    """What transformers itself generates, greedily."""
    prompt = model._tokens(asked)
    made = model._model.generate(
        torch.tensor([prompt]),
        attention_mask=torch.ones((1, len(prompt)), dtype=torch.long),
        max_new_tokens=asked.max_tokens,
        do_sample=False,
    )
    return tuple(made[0, len(prompt) :].tolist())


def test_greedy_rows_of_a_batch_are_what_transformers_makes_of_each(model: LocalModel) -> None:
    asked = [request(words, conversation=str(words)) for words in (3, 15, 1, 9)]
    replies = model.generate(asked)
    assert ids(replies) == [reference(model, item) for item in asked]
    assert all(reply.finish == "length" and reply.completion_tokens == 12 for reply in replies)
    assert all(len(reply.logprobs) == len(reply.token_ids) for reply in replies)


def test_later_turns_reuse_the_prefix_and_say_the_same(model: LocalModel) -> None:
    first = request(9, conversation="a")
    [reply] = model.generate([first])
    longer = (
        *first.messages,
        Message(role="assistant", content=reply.text),
        Message(role="user", content="again"),
    )
    second = request(1, messages=longer, conversation="a")
    kept = model._store.find("a", model._tokens(second))[1]
    assert kept >= reply.prompt_tokens - 1  # line ends may be tokenised together with what follows
    assert ids(model.generate([second])) == [reference(model, second)]
    # Taken back: the context is an earlier one again.
    assert ids(model.generate([first])) == [reply.token_ids]


def test_a_row_samples_the_same_alone_and_in_company(model: LocalModel) -> None:
    asked = [request(words, temperature=1.0, seed=words, conversation=str(words)) for words in (2, 14, 7)]
    together = ids(model.generate(asked))
    model.begin()
    assert [ids(model.generate([item]))[0] for item in asked] == together
    model.begin()
    assert ids(model.generate(asked[::-1]))[::-1] == together
    other = [request(2, temperature=1.0, seed=99, conversation="x")]
    assert ids(model.generate(other))[0] != together[0]


def test_a_text_that_was_taken_back_is_not_said_again(model: LocalModel) -> None:
    said: list[tuple[int, ...]] = []
    for turn in range(6):
        asked = request(5, max_tokens=2, temperature=0.3 if turn else 0.0, seed=turn, avoid=tuple(said))
        said.append(ids(model.generate([asked]))[0])
    assert len(set(said)) == 6


def test_generation_ends_after_a_stop_text(model: LocalModel) -> None:
    [whole] = model.generate([request(4)])
    stop = whole.text[3:6]
    [cut] = model.generate([request(4, stop=(stop,))])
    assert cut.finish == "stop" and stop in cut.text and len(cut.token_ids) < len(whole.token_ids)
    assert whole.text.startswith(cut.text) and cut.token_ids == whole.token_ids[: len(cut.token_ids)]


def test_a_turn_that_does_not_begin_in_time_is_cut_off(model: LocalModel) -> None:
    [whole] = model.generate([request(4)])
    [cut] = model.generate([request(4, begin="<function=", begin_tokens=5)])
    assert cut.finish == "length" and cut.token_ids == whole.token_ids[:5]
    [begun] = model.generate([request(4, begin=whole.text[:2], begin_tokens=5)])
    assert begun.token_ids == whole.token_ids


def test_a_guided_model_says_only_what_it_may(model: LocalModel) -> None:
    may = Guide(
        frozenset({"<function=submit>\n</function>", "<function=test>\n</function>"}), frozenset(), {}
    )
    asked = [request(words, guide=may, stop=("</function>",), max_tokens=40) for words in (2, 9)]
    replies = model.generate([*asked, request(5)])
    assert all(reply.text in may.whole for reply in replies[:2])
    assert ids(replies)[2] == reference(model, request(5))


def test_what_must_follow_is_read_at_once(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    edits = {"<function=edit>\n<parameter=path>a.py</parameter>\n<parameter=new>": "x\n"}
    may = Guide(frozenset({"<function=test>\n</function>"}), frozenset(), edits)
    asked = [
        request(words, guide=may, stop=("</function>",), max_tokens=60, conversation=str(words))
        for words in (2, 9, 5)
    ]
    together = model.generate(asked)
    steps = 0
    forward = model._reader.forward

    def counted(*arguments: Any, **named: Any) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return forward(*arguments, **named)

    monkeypatch.setattr(model._reader, "forward", counted)
    model.begin()
    for one, reply in zip(asked, together, strict=True):
        steps = 0
        [alone] = model.generate([one])
        assert alone.token_ids == reply.token_ids and len(alone.logprobs) == len(alone.token_ids)
        assert steps < len(alone.token_ids)
        assert may.allows(alone.text)


class Few:
    """A guide to a few edits of two words, which end with a full stop."""

    begins = ("fix one to", "fix other to")

    @property
    def idle(self) -> dict[str, str]:
        return {begin: f"{begin} the dog runs." for begin in self.begins}

    def ahead(self, text: str) -> Ahead | None:
        left = frozenset(begin.removeprefix(text) for begin in self.begins if begin.startswith(text))
        return Ahead(frozenset(), left) if left else None

    def allows(self, text: str) -> bool:
        return True

    def settled(self, text: str) -> bool:
        return True

    def fits(self, text: str) -> bool:
        return not text.endswith("to.")


@contextmanager
def leaning(model: LocalModel, text: str) -> Iterator[None]:
    """The model says hardly anything but these words."""
    bias = torch.zeros(model._model.lm_head.out_features)
    bias[model._encode(text)] = 12.0
    bias[model._encode(".")] = 14.0
    hook = model._model.lm_head.register_forward_hook(lambda module, args, output: output + bias)
    try:
        yield
    finally:
        hook.remove()


def walk(model: LocalModel, asked: ModelRequest) -> list[tuple[float, tuple[int, ...]]]:
    """Every place where an edit may go another way, completed without cache or draft."""

    def scores(turn: Sequence[int]) -> torch.Tensor:
        logits = model._model(torch.tensor([[*prompt, *turn]])).logits
        return torch.log_softmax(logits[0].float(), dim=-1)[len(prompt) - 1 :]

    prompt = model._tokens(asked)
    begun: list[tuple[float, list[int], int]] = []
    for begin, turn in Few().idle.items():
        here: list[tuple[float, list[int], int]] = []
        tokens, known = model._encode(turn), scores(model._encode(turn))
        free = len(model._encode(begin))
        for at in range(free, len(tokens)):
            weights = [CHOICE] * free + [1.0] * (at - free)
            before = sum(weight * float(known[n][tokens[n]]) for n, weight in enumerate(weights))
            for token in known[at].topk(7).indices.tolist():
                if token != tokens[at]:
                    here.append((before + float(known[at][token]), [*tokens[:at], token], len(tokens)))
        begun += sorted(here, reverse=True)[:PER_TEXT]
    found = []
    for score, turn_ids, length in sorted(begun, reverse=True)[:KEPT]:
        while "." not in model._tokenizer.decode(turn_ids) and len(turn_ids) < length + 16:
            value, token = scores(turn_ids)[-1].max(dim=-1)
            turn_ids.append(int(token))
            score += float(value)
        if "." in model._tokenizer.decode(turn_ids):
            found.append((score, tuple(turn_ids)))
    return sorted(found, reverse=True)


def test_edits_are_ranked_as_a_walk_through_all_of_them_would(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_READINGS", 40)
    asked = [
        request(words, guide=Few(), ranked=True, stop=(".",), max_tokens=60, conversation=str(words))
        for words in (3, 12, 7)
    ]
    with leaning(model, " cat dog runs jumps and"), torch.inference_mode():
        expected = [walk(model, one) for one in asked]
        said: list[list[tuple[int, ...]]] = [[], [], []]
        for turn in range(3):
            replies = model.generate(
                [replace(one, avoid=tuple(ids)) for one, ids in zip(asked, said, strict=True)]
            )
            for ids, reply in zip(said, replies, strict=True):
                ids.append(reply.token_ids)
                assert reply.finish == "stop" and len(reply.logprobs) == len(reply.token_ids)
                # Ranked once; what comes next has been read already.
                assert reply.completion_tokens == len(reply.token_ids)
                assert (reply.compared_tokens > 0) == (turn == 0)
    for found, ids in zip(expected, said, strict=True):
        fitting = [turn for _, turn in found if not model._tokenizer.decode(turn).endswith("to.")]
        assert ids == fitting[:3]


def test_where_no_edit_is_found_the_turn_is_sampled(model: LocalModel) -> None:
    class None_(Few):
        def fits(self, text: str) -> bool:
            return False

    asked = request(4, guide=None_(), ranked=True, stop=(".",), conversation="a")
    free = request(4, guide=None_(), stop=(".",), conversation="b")
    replies = model.generate([asked, free])
    assert replies[0].token_ids == replies[1].token_ids != ()


def test_where_there_are_other_places_a_model_says_that_no_edit_is_left(model: LocalModel) -> None:
    asked = request(3, guide=Few(), ranked=True, stop=(".",), max_tokens=60, elsewhere=True, conversation="a")
    said: list[tuple[int, ...]] = []
    with leaning(model, " cat dog runs jumps and"):
        while (reply := model.generate([replace(asked, avoid=tuple(said))])[0]).finish == "stop":
            said.append(reply.token_ids)
        assert said and len(said) < 20
        assert (reply.finish, reply.text, reply.token_ids) == ("exhausted", "", ())
        assert reply.compared_tokens == 0
        # With nowhere else to look, the search goes on.
        [more] = model.generate([replace(asked, avoid=tuple(said), elsewhere=False)])
        assert more.finish == "stop" and more.token_ids not in said


def test_the_stop_token_is_no_text(loaded: LocalModel) -> None:
    """With every logit but one forced down, the model says its stop token at once."""
    end = loaded._tokenizer.convert_tokens_to_ids("<|im_end|>")
    head = loaded._model.lm_head
    forced = torch.full((len(loaded._tokenizer),), -1e4)
    forced[end] = 1e4
    hook = head.register_forward_hook(lambda module, args, output: output * 0 + forced)
    try:
        [reply] = loaded.generate([request(4)])
    finally:
        hook.remove()
    assert reply.text == "" and reply.token_ids == (end,) and reply.finish == "stop"


def test_a_prompt_beyond_the_models_length_is_a_lost_turn(model: LocalModel) -> None:
    long, short = request(2, max_tokens=5000), request(2)
    replies = model.generate([long, short])
    assert (replies[0].text, replies[0].finish) == ("", "length") and replies[1].completion_tokens == 12


def test_kept_prefixes_stay_within_their_budget(model: LocalModel) -> None:
    from components.agents.models.kv import Prefix, PrefixStore

    store = PrefixStore(10)
    for number in range(4):
        store.put(str(number), Prefix(tuple(range(4)), ()))
    assert store.find("0", [0, 1, 9])[1] == 2  # of another conversation
    assert list(store._kept) == ["2", "3"]
    store.put("2", Prefix((7, 8), ()))
    assert store.find("2", [7, 8, 9]) == (Prefix((7, 8), ()), 2)


def test_a_prefix_may_stand_on_an_empty_one() -> None:
    from components.agents.models.kv import Prefix

    to = torch.zeros(2, 1, 5, 4)
    Prefix((7, 8, 9), (torch.ones(2, 1, 3, 4),), Prefix((), ())).copy(0, to, 3)
    assert to.sum() == 2 * 3 * 4 and not to[:, :, 3:].any()


def test_models_that_forget_are_refused() -> None:
    config = Qwen2Config(
        vocab_size=32, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, use_sliding_window=True, sliding_window=8, max_window_layers=0,
    )  # fmt: skip
    with pytest.raises(ConfigError, match="full attention"):
        LocalModel(LocalConfig(model="x"), model=Qwen2ForCausalLM(config), tokenizer=object())


@pytest.mark.parametrize("name", ["", "/no/such/folder"])
def test_a_model_that_is_not_there_is_for_the_user_to_mend(name: str) -> None:
    with pytest.raises(ConfigError, match="model"):
        make_model(LocalConfig(model=name))


def test_the_configuration_makes_the_model(folder: Path) -> None:
    made = make_model(LocalConfig(model=str(folder), name="abc"))
    assert made.name == "abc" and made.lockstep and made.parallel == 1 and not made.demonstrator
    assert isinstance(getattr(made, "_model", None), LlamaForCausalLM)
