"""`LocalModel`: transformers in this process, one batch over all rollouts that wait for a turn.

A turn costs what is new in it: keys and values of the conversation so far are kept (`kv`, `reading`). Rows that end
leave the batch. Where a guide leaves one way on only, its tokens are read at once in place of being sampled (the
jump-forward decoding of SGLang). Edits may be ranked in place of being sampled (`ranking`): a conversation that was
taken back goes on with the next one, at no cost. Each row samples from its own seed, so it does not matter beside
whom.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch

from components.agents.models import kv
from components.agents.models.attention import use_grouped
from components.agents.models.base import Guidance, ModelReply, ModelRequest
from components.agents.models.config import LocalConfig
from components.agents.models.ranking import SCORED_TOKENS, Context, Draft, Hypothesis, rank
from components.agents.models.reading import Piece, Reader, batches
from components.agents.models.sampling import Chooser, Tried, circles
from components.agents.models.vocabulary import Vocabulary, certain
from components.agents.models.weights import load

_BATCH_TOKENS = 4096
"""Of one prefill batch, padding included: bounds memory."""
_KEPT_TOKENS = 131_072
"""Of all conversations together: 3 GB for SmolLM2-135M in bf16."""
_CHUNK = 16
"""Tokens that a row reads at a time while it is sampled."""
_SPARSE = 0.7
"""Share of rows still alive at which those that are done are taken out of the batch."""
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
    exhausted: bool = False

    @property
    def known(self) -> list[int]:
        """The prompt and what has been sampled so far."""
        return [*self.ids, *self.chooser.ids]

    @property
    def behind(self) -> int:
        """Tokens that the model has not read yet."""
        return len(self.ids) + len(self.chooser.ids) - self.cached


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
        use_grouped(self._model)
        kv.check_plain(self._model.config)
        self._reader = Reader(self._model)
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
        running = [
            row for row in rows if not row.done and not self._next_best(row) and not self._give_up(row)
        ]
        if running:
            with torch.inference_mode():
                for row in running:
                    row.prefix = self._store.find(row.request.conversation, row.ids)[0] or row.prefix
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
        pieces = [Piece.of(row.prefix, row.ids, 1, index) for index, row in enumerate(rows)]
        after: dict[int, torch.Tensor] = {}
        for batch in batches(pieces, _BATCH_TOKENS):
            hidden, cache = self._reader.run(batch)
            for place, piece in enumerate(batch):
                row = rows[piece.index]
                row.prefix, row.cached = kv.take(cache, place, row.ids), len(row.ids)
                after[id(row)] = self._reader.head(hidden[place, len(piece.ids) - 1])
        return after

    def _avoid(self, rows: Sequence[_Row]) -> None:
        """Tell each row's chooser the probabilities of the sequences not to be repeated."""
        missing = [
            (row, ids)
            for row in rows
            for ids in row.request.avoid
            if self._score_key(row, ids) not in self._scores
        ]
        pieces = [
            Piece.of(row.prefix, [*row.ids, *ids[:-1]], len(ids), index)
            for index, (row, ids) in enumerate(missing)
        ]
        for batch in batches(pieces, SCORED_TOKENS):
            hidden, _ = self._reader.run(batch)
            counts = [len(missing[piece.index][1]) for piece in batch]
            found = self._reader.after(hidden, [piece.ids for piece in batch], counts)
            for piece, logits in zip(batch, found, strict=True):
                row, ids = missing[piece.index]
                row.read += len(piece.ids)
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
        cache = self._reader.new_cache([(row.prefix, row.cached) for row in slots], room + _CHUNK)
        while alive := [index for index, row in enumerate(slots) if not row.done]:
            if len(alive) <= _SPARSE * len(slots):
                kv.select(cache, alive)
                slots = [slots[index] for index in alive]
                alive = list(range(len(slots)))
            unread = [[] if row.done else row.known[row.cached :][:_CHUNK] for row in slots]
            hidden = self._reader.forward(unread, [row.cached for row in slots], cache)
            wanted: list[tuple[_Row, torch.Tensor]] = []
            for index in alive:
                row, count = slots[index], len(unread[index])
                row.cached += count
                if not row.behind:
                    wanted.append((row, hidden[index, count - 1]))
            if not wanted:
                continue
            logits = self._reader.head(torch.stack([last for _, last in wanted]))
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
        """Give each row the most probable edit of its guide; where none is found, it may be sampled after all."""
        contexts = [self._edits(row) for row in rows]
        rank(self._reader, contexts)
        for row, context in zip(rows, contexts, strict=True):
            row.read += context.read
            self._ranked[row.request.conversation] = row.ids, context.found
        lost = [row for row in rows if not self._next_best(row) and not self._give_up(row)]
        for row in lost:
            row.request, row.done = replace(row.request, ranked=False), False
        self._avoid(lost)
        self._decode(lost)

    def _edits(self, row: _Row) -> Context:
        """What there is to rank."""

        def fits(ids: Sequence[int]) -> bool:
            return row.guide is not None and row.guide.fits(self._tokenizer.decode(ids))

        drafts = []
        for begin, turn in (row.guide.idle if row.guide is not None else {}).items():
            ids = self._encode(turn)
            drafts.append(Draft(ids, kv.common(self._encode(begin), ids)))
        ended = partial(self._ended, row)
        return Context(row.ids, row.prefix, drafts, row.request.avoid, ended, fits, self._ends)

    def _next_best(self, row: _Row) -> bool:
        """Take the most probable edit that may be made, if the edits of this context are ranked."""
        guide = row.guide
        if guide is None or not self._is_ranked(row):
            return False
        _, ranked = self._ranked[row.request.conversation]
        left = (item for item in ranked if tuple(item.ids) not in row.request.avoid)
        # A line is closed after enough tries.
        item = next((item for item in left if guide.allows(self._tokenizer.decode(item.ids))), None)
        if item is not None:
            row.chooser.ids, row.chooser.logprobs, row.done = list(item.ids), list(item.logprobs), True
        return item is not None

    def _give_up(self, row: _Row) -> bool:
        """Say that nothing is left, if the edits of this context were ranked and there are other places to look."""
        row.exhausted = row.request.elsewhere and self._is_ranked(row)
        if row.exhausted:
            row.chooser.ids, row.chooser.logprobs, row.done = [], [], True
        return row.exhausted

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
        """Whether the rest would be for nothing: what must begin has not begun in time, or there is no end to it."""
        request = row.request
        if circles(row.chooser.ids):
            return True
        if not request.begin or len(row.chooser.ids) != request.begin_tokens:
            return False
        return request.begin not in self._tokenizer.decode(row.chooser.ids)

    def _reply(self, row: _Row, seconds: float) -> ModelReply:
        ids = row.chooser.ids
        said = ids[:-1] if ids and ids[-1] in self._ends else ids
        return ModelReply(
            text=self._tokenizer.decode(said),
            prompt_tokens=len(row.ids),
            completion_tokens=len(ids),
            compared_tokens=row.read,
            token_ids=tuple(ids),
            logprobs=tuple(row.chooser.logprobs),
            finish="exhausted" if row.exhausted else "length" if row.cut else "stop",
            seconds=seconds,
        )
