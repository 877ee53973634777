"""Search results as text: prompt lines and pages within a token budget, without repeating the prompt."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from config.secrets import mask_secrets
from memory.ledger.page import format_line
from memory.messages import Message, Passage, Provenance, Role
from memory.search.types import Hit
from memory.store.database import Row
from memory.text.query_terms import QueryTerms
from memory.text.sentences import remove_remember_request
from memory.text.tokens import TokenCounter
from memory.text.wording import is_quoted_from, make_wording_key

MAX_EXCERPT_CHARS = 300
"""Characters of each message or entry. Twice as many brought nothing on LoCoMo, half as many cost 10 points."""
_SHARE_BEFORE_MATCH = 1 / 4
_MAX_WORD_CHARS = 40
MAX_MASKED = 256
MAX_SENTENCE_KEYS = 1_000
"""Number of sentence keys that are cached. Memory files and notes have the same sentences turn after turn."""
MIN_SENTENCE_WORDS, MIN_SENTENCE_CHARS = 3, 12
"""Minimum length of a sentence that is not repeated in a prompt. Shorter ones such as "I see." may be repeated."""


def cut_excerpt(text: str, query_terms: QueryTerms, most: int = MAX_EXCERPT_CHARS) -> str:
    """Return `text` in one line and without secrets, cut to the part with the most query terms."""
    line = " ".join(_mask(text).split())  # Mask before cutting, since half a key is not recognised.
    if len(line) <= most:
        return line
    before = int(most * _SHARE_BEFORE_MATCH)
    results = query_terms.find_positions(line)
    starts = [at for at, _ in results]

    def count_terms(start: int) -> int:
        end = bisect_left(starts, start + most - before - _MAX_WORD_CHARS)
        return len({term for _, term in results[bisect_left(starts, start) : end]})

    best = max(starts, key=count_terms, default=0)
    start = max(0, min(best - before, len(line) - most))
    end = start + most
    if start:
        gap = line.find(" ", start - 1, start + _MAX_WORD_CHARS)
        start = gap + 1 if gap >= 0 and gap < best else start
    if end < len(line):
        gap = line.rfind(" ", end - _MAX_WORD_CHARS, end + 1)
        end = gap if gap > 0 else end
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


@lru_cache(maxsize=MAX_MASKED)
def _mask(text: str) -> str:
    """Return `text` without secrets. It is cached, since the same few messages are found turn after turn."""
    return mask_secrets(text)


_ROLES = frozenset(Role)


@dataclass(frozen=True, slots=True)
class HitFormatter:
    """Formats hits as text, with times in `zone`."""

    zone: ZoneInfo

    def format_entry(self, hit: Hit, query_terms: QueryTerms, most: int = MAX_EXCERPT_CHARS) -> str:
        ended = f" Outcome: {cut_excerpt(hit.outcome, query_terms, most)}" if hit.outcome else ""
        return f"{self.format_header(hit)} {cut_excerpt(hit.content, query_terms, most)}{ended}"

    def format_exchange(self, hit: Hit, text: str, *, numbered: bool = False) -> str:
        """Format an exchange with its time and, if `numbered`, the number of its message."""
        number = f", message {hit.id}" if numbered else ""
        return f"[{self.format_moment(hit.created_at)}, conversation{number}] {text}"

    def quote_rows(self, rows: Iterable[Row], query_terms: QueryTerms) -> tuple[QuotedMessage, ...]:
        return tuple(
            QuotedMessage(
                row["speaker"] or row["role"], Provenance(row["provenance"]), cut_excerpt(row["content"], query_terms)
            )
            for row in rows
        )

    def format_day(self, moment: datetime) -> str:
        return f"[{moment.astimezone(self.zone):%Y-%m-%d}, conversation]"

    def format_hour(self, moment: datetime) -> str:
        return f"{moment.astimezone(self.zone):%H:%M}"

    def format_header(self, hit: Hit) -> str:
        """Return the validity, kind and name of an entry."""
        if hit.shared_by is not None:
            since = self.format_moment(hit.valid_from or hit.created_at)
            return f"[{since}, shared by {hit.shared_by}]{hit.provenance.mark}"
        return f"[{self._format_validity(hit)}, {hit.kind} {hit.name}]{hit.provenance.mark}"

    def format_moment(self, moment: datetime) -> str:
        return f"{moment.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def _format_validity(self, hit: Hit) -> str:
        """Return the start of an entry's validity, its end if it is over, and whether it is unconfirmed."""
        since = hit.valid_from or hit.created_at
        if hit.unconfirmed is not None:
            return f"unconfirmed, {self.format_moment(since)}"
        if hit.valid_until is not None and hit.superseded_by is None:
            return f"{self.format_moment(since)} until {self.format_moment(hit.valid_until)}"
        if hit.superseded_by is None:
            return self.format_moment(since)
        if hit.superseded_at is None:  # Its successor was purged.
            return f"superseded, from {self.format_moment(since)}"
        return f"superseded, {self.format_moment(since)} to {self.format_moment(hit.superseded_at)}"


def add_speaker(source: str, provenance: Provenance, text: str) -> str:
    """Prefix a message with its source: the speaker in a group, otherwise the role."""
    return f"{source.capitalize() if source in _ROLES else source}{provenance.mark}: {text}"


@dataclass(frozen=True, slots=True)
class QuotedMessage:
    """A quoted message: its speaker or role, its provenance and its text."""

    source: str
    provenance: Provenance
    text: str

    @property
    def wording(self) -> str:
        return add_speaker(self.source, self.provenance, self.text)

    def remove_sentences(self, sentences: Collection[str]) -> QuotedMessage | None:
        """Return the message without the given sentences, as `make_sentence_key` values. None if nothing remains."""
        parts = _ENDS.split(self.text)
        remaining = [part for part in parts if _is_short(part) or make_sentence_key(part) not in sentences]
        if len(remaining) == len(parts):
            return self
        return replace(self, text=" ".join(remaining)) if any(map(str.strip, remaining)) else None


@dataclass(frozen=True, slots=True)
class _ExchangeLine:
    """An exchange. `said` is its messages, `text` the line that contains them with the time."""

    message: int
    at: datetime
    said: str
    text: str


class PromptLines:
    """Lines of a prompt within a token budget, in the order in which they are added.

    Exchanges of one conversation and day are grouped under one heading and sorted by time.
    """

    def __init__(self, tokens: int, counter: TokenCounter, formatter: HitFormatter) -> None:
        self.left = tokens
        self._counter = counter
        self._formatter = formatter
        self._talks: dict[tuple[int | None, date] | int, tuple[_ExchangeLine, ...]] = {}
        self._texts: dict[tuple[int | None, date] | int, str] = {}

    def add(self, hit: Hit, text: str, said: str | None) -> bool:
        """Add a hit. `said` is the messages of an exchange, or None for an entry. Return False if there is no room."""
        if said is None:
            return self._replace_group(-len(self._texts), f"- {text}")
        talk = hit.conversation_id, hit.created_at.astimezone(self._formatter.zone).date()
        line = _ExchangeLine(hit.id, hit.created_at, said, text)
        exchanges = tuple(sorted((*self._talks.get(talk, ()), line), key=lambda item: item.message))
        added = self._replace_group(talk, self._format_group(exchanges))
        if added:
            self._talks[talk] = exchanges
        return added

    @property
    def text(self) -> str:
        return "\n".join(self._texts.values())

    def _replace_group(self, key: tuple[int | None, date] | int, text: str) -> bool:
        existing = self._texts.get(key)
        cost = self._count_tokens(text) - (self._count_tokens(existing) if existing is not None else 0)
        if cost > self.left:
            return False
        self.left -= cost
        self._texts[key] = text
        return True

    def _format_group(self, exchanges: tuple[_ExchangeLine, ...]) -> str:
        if len(exchanges) == 1:
            return f"- {exchanges[0].text}"
        lines = [
            f"  {self._formatter.format_hour(exchange_line.at)} {exchange_line.said}" for exchange_line in exchanges
        ]
        return "\n".join([f"- {self._formatter.format_day(exchanges[0].at)}", *lines])

    def _count_tokens(self, text: str) -> int:
        return self._counter.count(text) + 1


_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_HEAD = re.compile(r"^(?:- \[[^\]]*\]|  \d\d:\d\d) ")
_NOTED = re.compile(r"^\[\d\d:\d\d\] ")
_SPEAKER = re.compile(r"^[^:|]{1,64}: ")
_MARKS = re.compile(r"^\s*(?:[-*•>#]+\s+)*")


@dataclass(frozen=True, slots=True)
class AlreadyInPrompt:
    """Text that a prompt already contains, so that it is not repeated.

    Foreign text is not part of it, except in `quoted`: it must not suppress a trusted memory.

    Attributes:
        lines: Trusted lines, such as those of MEMORY.md.
        sentences: Sentences of trusted text and of the user.
        turns: The text that the user typed in the visible conversation, by turn.
        quoted: Sentences of notes and quotations by any speaker. They are not quoted again, but suppress no memory.
    """

    lines: frozenset[str] = frozenset()
    sentences: frozenset[str] = frozenset()
    turns: Mapping[int, str] = field(default_factory=dict)
    quoted: frozenset[str] = frozenset()

    def with_quoted(self, *texts: str) -> AlreadyInPrompt:
        """Add the sentences of quoted texts, such as daily notes."""
        keys = {make_sentence_key(part) for text in texts for part in _split_quotes(text)}
        return replace(self, quoted=self.quoted | keys)

    def make_sentence_keys(self) -> frozenset[str]:
        """Return the keys of all sentences. Call it once for a prompt: there may be hundreds."""
        return self.quoted | {make_sentence_key(sentence) for sentence in self.sentences}

    def with_lines(self, text: str) -> AlreadyInPrompt:
        return replace(self, lines=self.lines | {*text.splitlines()}, sentences=self.sentences | _split_wordings(text))

    def with_messages(self, messages: Iterable[Message]) -> AlreadyInPrompt:
        sentences, turns = set(self.sentences), dict(self.turns)
        for message in messages:
            if message.role is Role.USER and message.provenance is Provenance.TYPED:
                sentences |= _split_wordings(message.content)
                if message.turn_id is not None:
                    turns[message.turn_id] = f"{turns.get(message.turn_id, '')}\n{message.content}".strip()
        return replace(self, sentences=frozenset(sentences), turns=turns)

    def with_passage(self, passage: Passage) -> AlreadyInPrompt:
        """Add the texts that the lines of a passage quote, except foreign ones.

        Texts are added whole. A single sentence of an old message doesn't show that it is still true.
        """
        own = [piece.text for piece in passage.pieces if not piece.provenance.is_foreign]
        quoted = [part for text in own for line in text.splitlines() for part in _HEAD.sub("", line).split(" | ")]
        # With and without the speaker prefix, and without a leading "remember that".
        parts = [text for part in quoted for text in (part, _SPEAKER.sub("", part))]
        texts = {make_wording_key(text) for text in parts} | {make_sentence_key(text) for text in parts}
        return replace(self, sentences=self.sentences | texts)

    def contains(self, content: str, line: str | None = None, turn: int | None = None) -> bool:
        """Return True if a memory is in the prompt: by its line of MEMORY.md, its sentences, or verbatim in its turn.

        Args:
            line: The line of the memory in MEMORY.md, if it has one.
            turn: The turn in which the memory was said.
        """
        if (line or format_line(content)) in self.lines:
            return True
        sentences = _split_wordings(content)
        if make_wording_key(content) in self.sentences or (sentences and sentences <= self.sentences):
            return True
        return turn is not None and turn in self.turns and is_quoted_from(content, self.turns[turn])


def find_quotes(prompt: str) -> frozenset[str]:
    return frozenset(_HEAD.sub("", line) for line in prompt.splitlines())


@lru_cache(MAX_SENTENCE_KEYS)
def make_sentence_key(sentence: str) -> str:
    """Return a key for comparing sentences, without list marks and a leading "remember that"."""
    return make_wording_key(_MARKS.sub("", remove_remember_request(sentence)))


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) < MIN_SENTENCE_WORDS and len(sentence) < MIN_SENTENCE_CHARS


def split_sentences(text: str) -> list[str]:
    return [part for line in text.splitlines() for part in _ENDS.split(line) if part.strip()]


def _split_quotes(text: str) -> Iterator[str]:
    """Yield the sentences of a text that quotes messages, without speakers and times."""
    for line in text.splitlines():
        for part in _NOTED.sub("", line).split(" | "):
            yield from (sentence for sentence in _ENDS.split(_SPEAKER.sub("", part)) if sentence.strip())


def _split_wordings(text: str) -> frozenset[str]:
    """Return the wording of each sentence, without list marks."""
    parts = (_MARKS.sub("", part) for line in text.splitlines() for part in _ENDS.split(line))
    return frozenset(message_text for part in parts if (message_text := make_wording_key(part)))


NOTHING_IN_PROMPT = AlreadyInPrompt()
