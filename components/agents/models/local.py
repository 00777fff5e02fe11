"""`LocalModel`: transformers in this process, one batch over all rollouts that wait for a turn.

A turn costs what is new in it: keys and values of the conversation so far are kept (`kv`). Rows that end
leave the batch. Where a guide leaves one way on only, its tokens are read at once in place of being sampled (the
jump-forward decoding of SGLang). Edits may be ranked in place of being sampled (`ranking`): a conversation that was
taken back goes on with the next one, at no cost. Each row samples from its own seed, so it does not matter beside
whom.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from transformers import Cache

from components.agents.models import kv
from components.agents.models.base import Guidance, ModelReply, ModelRequest
from components.agents.models.config import LocalConfig
from components.agents.models.ranking import Hypothesis, best, hopeless, variants
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
_LIKE = 24
"""Tokens by which pieces may differ that are of like length."""
_SPARSE = 0.7
"""Share of rows still alive at which those that are done are taken out of the batch."""
_READINGS = 6
"""Of an edit that is being completed: more often it leaves its draft in hopeless ones only."""
_LONGER = 16
"""Tokens by which an edit may be longer than one that changes nothing."""
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
    edits: bool = False
    """The turn is an edit, to be chosen by rank."""
    read: int = 0
    """Tokens that were read to compare turns."""
    done: bool = False
    cut: bool = False

    @property
    def known(self) -> list[int]:
        """The prompt and what has been sampled so far."""
        return [*self.ids, *self.chooser.ids]

    @property
    def behind(self) -> int:
        """Tokens that the model has not read yet."""
        return len(self.ids) + len(self.chooser.ids) - self.cached


@dataclass(frozen=True)
class _Piece:
    """Tokens to be run after a prefix."""

    row: _Row
    prefix: kv.Prefix
    shared: int
    ids: Sequence[int]
    index: int = 0
    """Where it came from."""


class _Begun(NamedTuple):
    """An edit that has been begun, and what has been read of it."""

    row: _Row
    item: Hypothesis
    prefix: kv.Prefix


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
        self._ranked: dict[str, tuple[list[int], list[Hypothesis]]] = {}

    def begin(self) -> None:
        """Forget what is kept of other conversations: it changes no result but in the last bits."""
        self._store = kv.PrefixStore(_KEPT_TOKENS)
        self._scores.clear()
        self._ranked.clear()

    def generate(self, requests: Sequence[ModelRequest]) -> list[ModelReply]:
        """Sample one turn for each request."""
        started = time.monotonic()
        rows = [
            _Row(
                request,
                self._tokens(request),
                chooser=Chooser(request.temperature, request.seed),
                guide=request.guide,
            )
            for request in requests
        ]
        for row in rows:
            row.done = row.cut = len(row.ids) + row.request.max_tokens > self._longest
        running = [row for row in rows if not row.done and not self._next_best(row)]
        if running:
            with torch.inference_mode():
                for row in running:
                    found, shared = self._store.find(row.request.conversation, row.ids)
                    row.prefix, row.cached = found or row.prefix, min(shared, len(row.ids) - 1)
                logits = self._prefill(running)
                self._avoid([row for row in running if not self._is_ranked(row)])
                for row in running:
                    self._choose(row, logits[id(row)])
                self._decode(running)
                self._rank([row for row in running if row.edits])
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
                after[id(row)] = self._head(hidden[index, len(piece.ids) - 1])
        return after

    def _avoid(self, rows: Sequence[_Row]) -> None:
        """Tell each row's chooser the probabilities of the sequences not to be repeated."""
        missing = [
            (row, ids)
            for row in rows
            for ids in row.request.avoid
            if self._score_key(row, ids) not in self._scores
        ]
        for index, logits in self._read([(row, ids[:-1], len(ids)) for row, ids in missing]):
            row, ids = missing[index]
            scores = torch.log_softmax(logits / (row.request.temperature or 1.0), dim=-1)
            chosen = scores[torch.arange(len(ids)), torch.tensor(ids)]
            self._scores[self._score_key(row, ids)] = Tried(ids, tuple(chosen.tolist()))
        for row in rows:
            avoid = dict.fromkeys(row.request.avoid)
            row.chooser.tried = [self._scores[self._score_key(row, ids)] for ids in avoid]

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
            unread = [[] if row.done else row.known[row.cached :][:_CHUNK] for row in slots]
            hidden = self._forward(unread, [row.cached for row in slots], cache)
            wanted: list[tuple[_Row, torch.Tensor]] = []
            for index in alive:
                row, count = slots[index], len(unread[index])
                row.cached += count
                if not row.behind:
                    wanted.append((row, hidden[index, count - 1]))
            if not wanted:
                continue
            logits = self._head(torch.stack([last for _, last in wanted]))
            for (row, _), scores in zip(wanted, logits, strict=True):
                self._choose(row, scores)
            for index in alive:
                row = slots[index]
                if row.done:
                    row.prefix = kv.take(cache, index, row.known[: row.cached])
                    self._store.put(row.request.conversation, row.prefix)

    def _choose(self, row: _Row, logits: torch.Tensor) -> None:
        """Sample the next token, and add those that must follow it."""
        said = self._tokenizer.decode(row.chooser.ids)
        ahead = row.guide.ahead(said) if row.guide is not None else None
        among = None if ahead is None else self._vocabulary.along(ahead)
        token = row.chooser.choose(logits.cpu(), self._allowed(row), among)
        row.done = token in self._ends or self._ended(row, row.chooser.ids)
        if not row.done and (forced := self._forced(row)):
            row.chooser.force(forced)
            row.done = self._ended(row, row.chooser.ids)
        if not row.done and (len(row.chooser.ids) >= row.request.max_tokens or self._astray(row)):
            row.done = row.cut = True
        if not row.done and row.request.ranked and row.guide is not None:
            row.done = row.edits = row.guide.settled(self._tokenizer.decode(row.chooser.ids))

    def _rank(self, rows: Sequence[_Row]) -> None:
        """Give each row the most probable edit of its guide; where none is found, the turn is sampled after all."""
        found = self._complete(self._begin_edits(rows))
        for row in rows:
            self._ranked[row.request.conversation] = (
                row.ids,
                best(found.get(id(row), []), key=lambda item: item.score),
            )
        lost = [row for row in rows if not self._next_best(row)]
        for row in lost:
            row.request, row.done = replace(row.request, ranked=False), False
        self._avoid(lost)
        self._decode(lost)

    def _complete(self, begun: Sequence[_Begun]) -> dict[int, list[Hypothesis]]:
        """Go on with turns greedily; by row those that fit and are not much longer than their drafts."""
        done: dict[int, list[Hypothesis]] = defaultdict(list)
        pieces: list[_Piece] = []
        for index, (row, item, prefix) in enumerate(begun):
            if self._ended(row, item.ids):
                if self._fits(row, item):
                    done[id(row)].append(item)
            else:
                read = [*item.ids, *item.rest[:-1]]
                pieces.append(_piece(row, prefix, read, max(1, len(item.rest)), index))
        for batch in _batches(pieces, _SCORE_TOKENS):
            longest = max(len(piece.ids) for piece in batch)
            cache = self._new_cache([(piece.prefix, piece.shared) for piece in batch], 2 * longest + _LONGER)
            alive = [(piece.row, begun[piece.index].item) for piece in batch]
            most = [len(item.ids) + len(item.rest) + _LONGER for _, item in alive]
            unread, starts = [list(piece.ids) for piece in batch], [piece.shared for piece in batch]
            for _ in range(_READINGS):
                if not alive:
                    break
                hidden = self._forward(unread, starts, cache)
                going: list[int] = []
                counts = [max(1, len(item.rest)) for _, item in alive]
                for index, logits in enumerate(self._after(hidden, unread, counts)):
                    row, item = alive[index]
                    item.read(torch.log_softmax(logits, dim=-1))
                    if self._ended(row, item.ids):
                        if self._fits(row, item):
                            done[id(row)].append(item)
                    elif len(item.ids) < most[index] and item.ids[-1] not in self._ends:
                        going.append(index)
                going = [at for at in going if not hopeless(alive[at][1], done[id(alive[at][0])])]
                if len(going) < len(alive):
                    kv.select(cache, going)
                alive, most = [alive[index] for index in going], [most[index] for index in going]
                unread = [[item.ids[-1], *item.rest[:-1]] for _, item in alive]
                starts = [len(row.ids) + len(item.ids) - 1 for row, item in alive]
        return done

    def _begin_edits(self, rows: Sequence[_Row]) -> list[_Begun]:
        """The most probable beginnings of edits of each row, out of all texts that it may replace."""
        drafts: list[tuple[_Row, list[int], int, int]] = []
        for row in rows:
            turns = {
                begin: self._encode(turn) for begin, turn in (row.guide.idle if row.guide else {}).items()
            }
            free = {begin: kv.common(self._encode(begin), ids) for begin, ids in turns.items()}
            # Where all are the same, and read already, there is nothing to compare.
            read = min((kv.common(row.prefix.ids, [*row.ids, *ids]) for ids in turns.values()), default=0)
            start = max(0, min([read - len(row.ids), *free.values()]))
            drafts += [(row, ids, free[begin], start) for begin, ids in turns.items()]
        pieces = [
            _piece(row, row.prefix, ids[:-1], len(ids) - start, index)
            for index, (row, ids, _, start) in enumerate(drafts)
        ]
        begun: dict[int, list[_Begun]] = {id(row): [] for row in rows}
        for batch in _batches(pieces, _SCORE_TOKENS):
            hidden, cache = self._run(batch)
            counts = [len(drafts[piece.index][1]) - drafts[piece.index][3] for piece in batch]
            found = self._after(hidden, [piece.ids for piece in batch], counts)
            for place, (piece, logits) in enumerate(zip(batch, found, strict=True)):
                row, ids, free_from, start = drafts[piece.index]
                # Hypotheses go on from what has been read of the text that they differ from.
                prefix = kv.take(cache, place, [*row.ids, *ids[:-1]], row.prefix, piece.shared)
                items = variants(ids, free_from, start, torch.log_softmax(logits, dim=-1))
                fresh = [_Begun(row, item, prefix) for item in items if not _made(row, item)]
                begun[id(row)] = best([*begun[id(row)], *fresh], key=lambda one: one.item.score)
        return [one for row in rows for one in begun[id(row)]]

    def _read(self, turns: Sequence[tuple[_Row, Sequence[int], int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Read turns after the prompts of their rows: index, and the logits after each of the last so many tokens."""
        pieces = [_piece(row, row.prefix, ids, count, index) for index, (row, ids, count) in enumerate(turns)]
        for batch in _batches(pieces, _SCORE_TOKENS):
            hidden, _ = self._run(batch)
            counts = [turns[piece.index][2] for piece in batch]
            found = self._after(hidden, [piece.ids for piece in batch], counts)
            yield from zip((piece.index for piece in batch), found, strict=True)

    def _next_best(self, row: _Row) -> bool:
        """Take the most probable edit that may be made, if the edits of this context are ranked."""
        if not self._is_ranked(row):
            return False
        _, ranked = self._ranked[row.request.conversation]
        left = (item for item in ranked if tuple(item.ids) not in row.request.avoid)
        # What fitted may not do so any more: a line is closed after enough tries.
        item = next((item for item in left if self._fits(row, item)), None)
        if item is not None:
            row.chooser.ids, row.chooser.logprobs, row.done = list(item.ids), list(item.logprobs), True
        return item is not None

    def _fits(self, row: _Row, item: Hypothesis) -> bool:
        return row.guide is not None and row.guide.fits(self._tokenizer.decode(item.ids))

    def _is_ranked(self, row: _Row) -> bool:
        """Whether the edits of this context have been ranked."""
        return row.request.ranked and self._ranked.get(row.request.conversation, ([], []))[0] == row.ids

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

    def _ended(self, row: _Row, ids: Sequence[int]) -> bool:
        """Whether a turn of these tokens has come to a stop text."""
        tail = self._tokenizer.decode(ids[-_TAIL:]) if row.request.stop else ""
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

    def _after(
        self, hidden: torch.Tensor, read: Sequence[Sequence[int]], counts: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """For each row the logits after each of the last tokens read, so many."""
        ends = [len(ids) for ids in read]
        parts = [
            hidden[row, end - count : end] for row, (end, count) in enumerate(zip(ends, counts, strict=True))
        ]
        return torch.split(self._head(torch.cat(parts)), list(counts))

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
        said = ids[:-1] if ids and ids[-1] in self._ends else ids
        return ModelReply(
            text=self._tokenizer.decode(said),
            prompt_tokens=len(row.ids),
            completion_tokens=len(ids) + row.read,
            token_ids=tuple(ids),
            logprobs=tuple(row.chooser.logprobs),
            finish="length" if row.cut else "stop",
            seconds=seconds,
        )


def _piece(row: _Row, prefix: kv.Prefix, ids: Sequence[int], count: int, index: int) -> _Piece:
    """What is to be read of a turn to know what follows each of its last tokens, so many."""
    whole = [*row.ids, *ids]
    shared = min(kv.common(prefix.ids, whole), len(whole) - count)
    row.read += len(whole) - shared
    return _Piece(row, prefix, shared, whole[shared:], index)


def _made(row: _Row, item: Hypothesis) -> bool:
    """Whether an edit that begins so has been made: no two that were ranked begin alike."""
    return any(list(ids[: len(item.ids)]) == item.ids for ids in row.request.avoid)


def _batches(pieces: Sequence[_Piece], tokens: int) -> Iterator[list[_Piece]]:
    """Pieces of like length together, so that little is padding, and of those the ones with like contexts."""
    batch: list[_Piece] = []
    for piece in sorted(pieces, key=lambda item: (len(item.ids) // _LIKE, item.shared)):
        longest = max(len(piece.ids), *(len(item.ids) for item in batch)) if batch else len(piece.ids)
        wasteful = batch and longest > 1.5 * min(len(item.ids) for item in batch) + 16
        if batch and (wasteful or longest * (len(batch) + 1) > tokens):
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch
