"""`LocalModel`: transformers in this process, one batch over all rollouts that wait for a turn.

A turn costs what is new in it: keys and values of the conversation so far are kept (`kv`). Rows that end
leave the batch. Where a guide leaves one way on only, its tokens are read at once in place of being sampled (the
jump-forward decoding of SGLang). Each row samples from its own seed, so it does not matter beside whom.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from transformers import Cache

from components.agents.models import kv
from components.agents.models.base import Guidance, ModelReply, ModelRequest
from components.agents.models.config import LocalConfig
from components.agents.models.sampling import Chooser, Tried
from components.agents.models.vocabulary import Vocabulary, certain
from components.agents.models.weights import load

_BATCH_TOKENS = 4096
"""Of one prefill batch, padding included: bounds memory."""
_SCORE_TOKENS = 1024
"""The same where every token is scored."""
_KEPT_TOKENS = 131_072
"""Of all conversations together: 3 GB for SmolLM2-135M in bf16."""
_CHUNK = 16
"""Tokens that a row reads at a time while it is sampled."""
_SPARSE = 0.7
"""Share of rows still alive at which those that are done are taken out of the batch."""
_DECLINES = 8
"""Fresh starts of one turn."""
_TAIL = 12
"""Tokens looked at for a stop text."""


@dataclass
class _Row:
    request: ModelRequest
    ids: list[int]
    """The prompt."""
    prefix: kv.Prefix = field(default_factory=lambda: kv.Prefix((), ()))
    """Keys and values of its first tokens."""
    cached: int = 0
    """Tokens that the model has read."""
    chooser: Chooser = field(default_factory=lambda: Chooser(0.0, 0))
    guide: Guidance | None = None
    draft: list[int] = field(default_factory=list)
    """Tokens that may follow, to be read on trial."""
    declined: int = 0
    wasted: int = 0
    """Tokens of turns that were started and given up."""
    done: bool = False
    cut: bool = False

    @property
    def known(self) -> list[int]:
        """The prompt and what has been sampled so far."""
        return [*self.ids, *self.chooser.ids]

    @property
    def behind(self) -> int:
        """Tokens that the model has not read yet, without the draft."""
        return len(self.ids) + len(self.chooser.ids) - self.cached

    @property
    def unread(self) -> list[int]:
        """Those tokens, and the draft."""
        return [*self.known[self.cached :], *self.draft]


@dataclass(frozen=True)
class _Piece:
    """Tokens to be run after a prefix."""

    row: _Row
    prefix: kv.Prefix
    shared: int
    ids: Sequence[int]


class LocalModel:
    """A causal language model in this process."""

    demonstrator = False
    parallel = 1
    lockstep = True

    def __init__(self, config: LocalConfig, *, model: Any = None, tokenizer: Any = None) -> None:
        self.config = config
        self.name = config.name or config.model
        self.max_batch = config.max_batch
        if config.threads:
            torch.set_num_threads(config.threads)
        if model is None or tokenizer is None:
            model, tokenizer = load(config.model, config.dtype, config.device)
        self._model, self._tokenizer = model, tokenizer
        self._model.eval()
        kv.check_plain(self._model.config)
        self._store = kv.PrefixStore(_KEPT_TOKENS)
        self._ends = self._end_tokens()
        self._longest = int(getattr(self._model.config, "max_position_embeddings", 0) or 1 << 30)
        self._scores: dict[tuple[str, int, tuple[int, ...], float], Tried] = {}

    def begin(self) -> None:
        """Forget what is kept of other conversations: it changes no result but in the last bits."""
        self._store = kv.PrefixStore(_KEPT_TOKENS)
        self._scores.clear()

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Sample one turn for each request."""
        started = time.monotonic()
        rows = [_Row(request, self._tokens(request), guide=request.guide) for request in requests]
        for row in rows:
            row.done = row.cut = len(row.ids) + row.request.max_tokens > self._longest
        running = [row for row in rows if not row.done]
        if running:
            with torch.inference_mode():
                for row in running:
                    found, shared = self._store.find(row.request.conversation, row.ids)
                    row.prefix, row.cached = found or row.prefix, min(shared, len(row.ids) - 1)
                logits = self._prefill(running)
                self._avoid(running)
                for row in running:
                    self._follow(row, logits[id(row)])
                self._decode(running)
        share = (time.monotonic() - started) / max(1, len(rows))
        return [self._reply(row, share) for row in rows]

    def _tokens(self, request: ModelRequest) -> list[int]:
        chat = [{"role": message.role, "content": message.content} for message in request.messages]
        text = self._tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        return self._encode(text)

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _end_tokens(self) -> frozenset[int]:
        known = self._tokenizer.get_vocab()
        ends = {known[token] for token in ("<|im_end|>", "<|endoftext|>") if token in known}
        for eos in (self._tokenizer.eos_token_id, self._model.generation_config.eos_token_id):
            ends.update(eos if isinstance(eos, list) else [] if eos is None else [eos])
        return frozenset(ends)

    def _prefill(self, rows: Sequence[_Row]) -> dict[int, torch.Tensor]:
        """Read all prompts; the logits after each, by row."""
        pieces = [_Piece(row, row.prefix, row.cached, row.ids[row.cached :]) for row in rows]
        after: dict[int, torch.Tensor] = {}
        for batch in _batches(pieces, _BATCH_TOKENS):
            hidden, cache = self._run(batch)
            for index, piece in enumerate(batch):
                row = piece.row
                row.prefix, row.cached = kv.take(cache, index, row.ids), len(row.ids)
                after[id(row)] = self._head(hidden[index, len(piece.ids) - 1 : len(piece.ids)])
        return after

    def _follow(self, row: _Row, logits: torch.Tensor) -> None:
        """Sample the next token, and more of them as long as they are those of the draft (speculative decoding).

        Nothing is accepted that would not have been sampled without a draft, from the same logits.
        """
        draft, row.draft = row.draft, []
        for position in range(len(logits)):
            count = len(row.chooser.ids)
            if not self._choose(row, logits[position]):
                return
            if position == len(draft) or row.chooser.ids[count] != draft[position]:
                break
            row.cached += 1
            if len(row.chooser.ids) > count + 1:
                break  # more follows than the draft knew of
        row.draft = self._draft(row)

    def _avoid(self, rows: Sequence[_Row]) -> None:
        """Set up each row's chooser, with the probabilities of the sequences not to be repeated."""
        missing: list[_Piece] = []
        for row in rows:
            for ids in row.request.avoid:
                if self._score_key(row, ids) not in self._scores:
                    missing.append(_Piece(row, row.prefix, len(row.ids) - 1, [row.ids[-1], *ids[:-1]]))
        for batch in _batches(missing, _SCORE_TOKENS):
            hidden, _ = self._run(batch)
            for index, piece in enumerate(batch):
                row, count = piece.row, len(piece.ids)
                warm = row.request.temperature or 1.0
                scores = torch.log_softmax(self._head(hidden[index, :count]) / warm, dim=-1)
                for ids in row.request.avoid:
                    if list(ids[:-1]) == list(piece.ids[1:]):
                        chosen = scores[torch.arange(count), torch.tensor(ids)]
                        self._scores[self._score_key(row, ids)] = Tried(ids, tuple(chosen.tolist()))
        for row in rows:
            request = row.request
            tried = [self._scores[self._score_key(row, ids)] for ids in dict.fromkeys(request.avoid)]
            row.chooser = Chooser(request.temperature, request.seed, tried)

    def _score_key(self, row: _Row, ids: tuple[int, ...]) -> tuple[str, int, tuple[int, ...], float]:
        return row.request.conversation, hash(tuple(row.ids)), ids, row.request.temperature

    def _decode(self, rows: Sequence[_Row]) -> None:
        """Sample all rows together until they are done; each reads what it has not read, a few tokens at a time."""
        for row in rows:
            if row.done:
                self._store.put(row.request.conversation, row.prefix)
        slots = [row for row in rows if not row.done]
        if not slots:
            return
        room = max(len(row.ids) + row.request.max_tokens for row in slots) - max(row.cached for row in slots)
        cache = self._new_cache([(row.prefix, row.cached) for row in slots], room + _CHUNK)
        while alive := [index for index, row in enumerate(slots) if not row.done]:
            if len(alive) <= _SPARSE * len(slots):
                kv.select(cache, alive)
                slots = [slots[index] for index in alive]
                alive = list(range(len(slots)))
            unread = [[] if row.done else row.unread[:_CHUNK] for row in slots]
            hidden = self._forward(unread, [row.cached for row in slots], cache)
            wanted: list[tuple[_Row, torch.Tensor]] = []
            for index in alive:
                row, count = slots[index], len(unread[index])
                drafted = count - row.behind
                row.cached += min(count, row.behind)
                if drafted >= 0:
                    row.draft = row.draft[:drafted]
                    wanted.append((row, hidden[index, count - 1 - drafted : count]))
            if not wanted:
                continue
            logits = self._head(torch.cat([part for _, part in wanted]))
            for row, part in zip(
                [row for row, _ in wanted], torch.split(logits, [len(p) for _, p in wanted]), strict=True
            ):
                self._follow(row, part)
            for index in alive:
                row = slots[index]
                if row.done:
                    read = kv.take(cache, index, row.known[: row.cached])
                    self._store.put(row.request.conversation, read)

    def _choose(self, row: _Row, logits: torch.Tensor) -> bool:
        """Sample the next token, and add those that must follow it; whether the row goes on from there."""
        said = self._tokenizer.decode(row.chooser.ids)
        ahead = row.guide.ahead(said) if row.guide is not None else None
        among = None if ahead is None else self._vocabulary.along(ahead)
        token = row.chooser.choose(logits.cpu(), self._allowed(row), among)
        if ahead is None and row.chooser.refused and self._start_anew(row, said):
            return False
        row.done = token in self._ends or self._stopped(row)
        if not row.done and (forced := self._forced(row)):
            row.chooser.force(forced)
            row.done = self._stopped(row)
        if not row.done and (len(row.chooser.ids) >= row.request.max_tokens or self._astray(row)):
            row.done = row.cut = True
        return not row.done

    def _start_anew(self, row: _Row, said: str) -> bool:
        """Give up an edit that the model would have change nothing: it sees no bug in that line."""
        guide = row.guide.without(said) if row.guide is not None and row.declined < _DECLINES else None
        if guide is None:
            return False
        row.guide, row.declined, row.wasted = guide, row.declined + 1, row.wasted + len(row.chooser.ids)
        row.chooser = Chooser(row.chooser.temperature, row.chooser.seed, row.chooser.tried)
        row.cached = len(row.ids) - 1  # the logits after the prompt are needed again
        return True

    def _allowed(self, row: _Row) -> Callable[[int], bool] | None:
        guide = row.guide
        if guide is None:
            return None

        def allowed(token: int) -> bool:
            if token in self._ends:
                return False  # a call ends with a stop text
            # A character may be spread over tokens: half of one decodes to U+FFFD.
            text = self._tokenizer.decode([*row.chooser.ids, token]).rstrip("\ufffd")
            return guide.allows(text)

        return allowed

    def _draft(self, row: _Row) -> list[int]:
        """Tokens likely to follow what has been sampled."""
        text = row.guide.draft(self._tokenizer.decode(row.chooser.ids)) if row.guide is not None else ""
        room = max(0, row.request.max_tokens - len(row.chooser.ids) - 1)
        return self._encode(text)[:room] if text else []

    def _forced(self, row: _Row) -> list[int]:
        """The tokens that must follow: not sampled one by one, but read all at once."""
        said = self._tokenizer.decode(row.chooser.ids)
        ahead = row.guide.ahead(said) if row.guide is not None else None
        text = certain(ahead) if ahead is not None else ""
        if not text:
            return []
        # As the whole would be divided into tokens, if what is there agrees with that.
        ids, count = self._encode(said + text), len(row.chooser.ids)
        return ids[count:] if ids[:count] == row.chooser.ids else self._encode(text)

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(self._tokenizer)

    def _stopped(self, row: _Row) -> bool:
        if not row.request.stop:
            return False
        tail = self._tokenizer.decode(row.chooser.ids[-_TAIL:])
        return any(stop in tail for stop in row.request.stop)

    def _astray(self, row: _Row) -> bool:
        """Whether the text that must begin has not begun in time: the rest would be for nothing."""
        request = row.request
        if not request.begin or len(row.chooser.ids) != request.begin_tokens:
            return False
        return request.begin not in self._tokenizer.decode(row.chooser.ids)

    def _run(self, batch: Sequence[_Piece]) -> tuple[torch.Tensor, Cache]:
        """Read pieces together: hidden states [rows, tokens, size], and the cache."""
        longest = max(len(piece.ids) for piece in batch)
        cache = self._new_cache([(piece.prefix, piece.shared) for piece in batch], longest)
        hidden = self._forward([piece.ids for piece in batch], [piece.shared for piece in batch], cache)
        return hidden, cache

    def _new_cache(self, prefixes: Sequence[tuple[kv.Prefix, int]], room: int) -> Cache:
        return kv.new_cache(prefixes, room, self._model.config, self._model.dtype, self._device)

    def _forward(self, unread: Sequence[Sequence[int]], starts: Sequence[int], cache: Cache) -> torch.Tensor:
        """Read tokens of each row from its start on; hidden states [rows, tokens, size], padded on the right."""
        device, count = self._device, max(len(ids) for ids in unread)
        ids = torch.tensor([[*row, *[0] * (count - len(row))] for row in unread], device=device)
        columns = torch.tensor(starts, device=device)[:, None] + torch.arange(count, device=device)
        end = int(columns.max()) + 1
        for layer in cache.layers:
            layer.aim(columns, end)
        # What padding writes lies behind what a row has read, where nothing looks before it is overwritten.
        mask = torch.arange(end, device=device) <= columns[:, None, :, None]
        answer = self._model.get_decoder()(
            input_ids=ids, attention_mask=mask, position_ids=columns, cache=cache, use_cache=True
        )
        hidden: torch.Tensor = answer.last_hidden_state
        return hidden

    def _head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Float32 logits of hidden states."""
        logits: torch.Tensor = self._model.get_output_embeddings()(hidden).float()
        return logits

    @property
    def _device(self) -> torch.device:
        device: torch.device = self._model.device
        return device

    def _reply(self, row: _Row, seconds: float) -> ModelReply:
        ids = row.chooser.ids
        asked = row.request.guide
        said = ids[:-1] if ids and ids[-1] in self._ends else ids
        return ModelReply(
            text=self._tokenizer.decode(said),
            prompt_tokens=len(row.ids),
            completion_tokens=len(ids) + row.wasted,
            token_ids=tuple(ids),
            logprobs=tuple(row.chooser.logprobs),
            finish="length" if row.cut else "stop",
            declined=asked.closed_to(row.guide)
            if asked is not None and row.guide is not None
            else frozenset(),
            seconds=seconds,
        )


def _batches(pieces: Sequence[_Piece], tokens: int) -> Iterator[list[_Piece]]:
    """Pieces of like length together, so that little is padding."""
    batch: list[_Piece] = []
    for piece in sorted(pieces, key=lambda item: len(item.ids)):
        longest = len(piece.ids)
        wasteful = batch and longest > 1.5 * len(batch[0].ids) + 16
        if batch and (wasteful or longest * (len(batch) + 1) > tokens):
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch
