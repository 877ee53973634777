"""What was found, as text: lines and pages of so many tokens, and what a prompt says already."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from config.secrets import without_secrets
from memory.capture.capture import requested
from memory.errors import MnemeError
from memory.ledger.page import format_line
from memory.messages import Passage, Provenance, Role, worst
from memory.text.naming import wording
from memory.text.same_words import is_quoted_from

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from memory.messages import Message
    from memory.search.search import Hit
    from memory.store.database import Row
    from memory.text.sought import QueryTerms
    from memory.text.tokens import TokenCounter

TEXT_CHARACTERS = 300
"""How much of each message or entry is shown. Twice as much brought nothing more on LoCoMo, half cost 10 points."""
# the part of it that may stand before what is sought
_BEFORE = 1 / 4
_LONGEST_WORD = 40
MAX_MASKED = 256
MIN_SENTENCE_WORDS, MIN_SENTENCE_CHARS = 3, 12
"""Words or characters of a sentence that is quoted only once in a prompt. "I see." may stand there again."""


def excerpt(text: str, query_terms: QueryTerms, most: int = TEXT_CHARACTERS) -> str:
    """Return `text` in one line and without secrets: of a long one the part with most of what is sought."""
    line = " ".join(_masked(text).split())  # masked before it is cut: half a key is not recognised
    if len(line) <= most:
        return line
    before = int(most * _BEFORE)
    results = query_terms.positions(line)
    starts = [at for at, _ in results]

    def held(start: int) -> int:
        end = bisect_left(starts, start + most - before - _LONGEST_WORD)
        return len({term for _, term in results[bisect_left(starts, start) : end]})

    best = max(starts, key=held, default=0)
    start = max(0, min(best - before, len(line) - most))
    end = start + most
    if start:
        gap = line.find(" ", start - 1, start + _LONGEST_WORD)
        start = gap + 1 if gap >= 0 and gap < best else start
    if end < len(line):
        gap = line.rfind(" ", end - _LONGEST_WORD, end + 1)
        end = gap if gap > 0 else end
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


@lru_cache(maxsize=MAX_MASKED)
def _masked(text: str) -> str:
    """Return `text` without secrets. The same few messages are found turn after turn."""
    return without_secrets(text)


_ROLES = frozenset(Role)


@dataclass(frozen=True, slots=True)
class HitFormatter:
    """Words what was found; moments are told on the clock of `zone`."""

    zone: ZoneInfo

    def entry(self, hit: Hit, query_terms: QueryTerms, most: int = TEXT_CHARACTERS) -> str:
        """An entry, with at most so many characters of its text."""
        ended = f" Outcome: {excerpt(hit.outcome, query_terms, most)}" if hit.outcome else ""
        return f"{self.about(hit)} {excerpt(hit.content, query_terms, most)}{ended}"

    def exchange(self, hit: Hit, text: str, *, numbered: bool = False) -> str:
        """What was said in the turn of a message, with its moment. numbered: with its number."""
        number = f", message {hit.id}" if numbered else ""
        return f"[{self.moment(hit.created_at)}, conversation{number}] {text}"

    def said(self, rows: Iterable[Row], query_terms: QueryTerms) -> tuple[Said, ...]:
        """Return what was said in a turn, message by message."""
        return tuple(
            Said(row["speaker"] or row["role"], Provenance(row["provenance"]), excerpt(row["content"], query_terms))
            for row in rows
        )

    def day(self, moment: datetime) -> str:
        """What stands over several exchanges of a conversation, of one day."""
        return f"[{moment.astimezone(self.zone):%Y-%m-%d}, conversation]"

    def hour(self, moment: datetime) -> str:
        """The time on a day."""
        return f"{moment.astimezone(self.zone):%H:%M}"

    def about(self, hit: Hit) -> str:
        """Since when an entry holds, and what it is and is called."""
        if hit.shared_by is not None:
            return f"[{self.moment(hit.valid_from or hit.created_at)}, shared by {hit.shared_by}]{hit.provenance.mark}"
        return f"[{self._validity(hit)}, {hit.kind} {hit.name}]{hit.provenance.mark}"

    def moment(self, moment: datetime) -> str:
        """A day and the time of it."""
        return f"{moment.astimezone(self.zone):%Y-%m-%d %H:%M}"

    def _validity(self, hit: Hit) -> str:
        """Since when an entry holds, of one that does no longer also until when, and whether it is confirmed."""
        since = hit.valid_from or hit.created_at
        if hit.unconfirmed is not None:
            return f"unconfirmed, {self.moment(since)}"
        if hit.valid_until is not None and hit.superseded_by is None:
            return f"{self.moment(since)} until {self.moment(hit.valid_until)}"
        if hit.superseded_by is None:
            return self.moment(since)
        if hit.superseded_at is None:  # its successor was purged
            return f"superseded, from {self.moment(since)}"
        return f"superseded, {self.moment(since)} to {self.moment(hit.superseded_at)}"


def said_by(source: str, provenance: Provenance, text: str) -> str:
    """A message with who said it: a speaker in a group, or else the role."""
    return f"{source.capitalize() if source in _ROLES else source}{provenance.mark}: {text}"


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it is quoted: who says it, where its words came from, and the words."""

    source: str
    provenance: Provenance
    text: str

    @property
    def wording(self) -> str:
        return said_by(self.source, self.provenance, self.text)

    def without(self, sentences: Collection[str]) -> Said | None:
        """Return it without some sentences, in the form that `sentence_key` gives them. None if nothing remains."""
        parts = _ENDS.split(self.text)
        remaining = [part for part in parts if _is_short(part) or sentence_key(part) not in sentences]
        if len(remaining) == len(parts):
            return self
        return replace(self, text=" ".join(remaining)) if any(map(str.strip, remaining)) else None


@dataclass(frozen=True, slots=True)
class _ExchangeLine:
    """An exchange: the number of its message, its moment, what was said, and all of that in one line."""

    message: int
    at: datetime
    said: str
    text: str


class PromptLines:
    """Lines in at most so many tokens, in the order in which they are added.

    What was said in one conversation on one day stands together, in the order of time, under its day: a day costs its
    tokens once, and what belongs together is read together.
    """

    def __init__(self, tokens: int, counter: TokenCounter, formatter: HitFormatter) -> None:
        self.left = tokens
        self._counter = counter
        self._formatter = formatter
        self._talks: dict[tuple[int | None, date] | int, tuple[_ExchangeLine, ...]] = {}
        self._texts: dict[tuple[int | None, date] | int, str] = {}

    def add(self, hit: Hit, text: str, said: str | None) -> bool:
        """Whether there was still room for a hit. said: of an exchange what was said."""
        if said is None:
            return self._put(-len(self._texts), f"- {text}")
        talk = hit.conversation_id, hit.created_at.astimezone(self._formatter.zone).date()
        line = _ExchangeLine(hit.id, hit.created_at, said, text)
        exchanges = tuple(sorted((*self._talks.get(talk, ()), line), key=lambda item: item.message))
        added = self._put(talk, self._worded(exchanges))
        if added:
            self._talks[talk] = exchanges
        return added

    @property
    def text(self) -> str:
        """All of them."""
        return "\n".join(self._texts.values())

    def _put(self, key: tuple[int | None, date] | int, text: str) -> bool:
        existing = self._texts.get(key)
        cost = self._cost(text) - (self._cost(existing) if existing is not None else 0)
        if cost > self.left:
            return False
        self.left -= cost
        self._texts[key] = text
        return True

    def _worded(self, exchanges: tuple[_ExchangeLine, ...]) -> str:
        if len(exchanges) == 1:
            return f"- {exchanges[0].text}"
        lines = [f"  {self._formatter.hour(exchange_line.at)} {exchange_line.said}" for exchange_line in exchanges]
        return "\n".join([f"- {self._formatter.day(exchanges[0].at)}", *lines])

    def _cost(self, text: str) -> int:
        return self._counter.text(text) + 1


_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])")
_HEAD = re.compile(r"^(?:- \[[^\]]*\]|  \d\d:\d\d) ")
_NOTED = re.compile(r"^\[\d\d:\d\d\] ")
_SPEAKER = re.compile(r"^[^:|]{1,64}: ")
_MARKS = re.compile(r"^\s*(?:[-*•>#]+\s+)*")


@dataclass(frozen=True, slots=True)
class AlreadyInPrompt:
    """Lines and sentences of the user's own, and by their turns what he typed in the conversation that is seen.

    What others said is no part of it: it must not take the place of what is trusted.
    """

    lines: frozenset[str] = frozenset()
    sentences: frozenset[str] = frozenset()
    turns: Mapping[int, str] = field(default_factory=dict)
    quoted: frozenset[str] = frozenset()
    """Sentences of notes and quotations, whoever said them: they are not quoted again, but they are no memory."""

    def with_quoted(self, *texts: str) -> AlreadyInPrompt:
        """Also the sentences of texts that are quoted, such as daily notes."""
        keys = {sentence_key(part) for text in texts for part in _quoted_parts(text)}
        return replace(self, quoted=self.quoted | keys)

    @property
    def said(self) -> frozenset[str]:
        """Return all sentences in it, as `sentence_key` gives them."""
        return self.quoted | {sentence_key(sentence) for sentence in self.sentences}

    def with_lines(self, text: str) -> AlreadyInPrompt:
        """Also the lines of a text that is trusted, such as MEMORY.md."""
        return replace(self, lines=self.lines | {*text.splitlines()}, sentences=self.sentences | _sentences(text))

    def with_messages(self, messages: Iterable[Message]) -> AlreadyInPrompt:
        """Also what the user typed in messages."""
        sentences, turns = set(self.sentences), dict(self.turns)
        for message in messages:
            if message.role is Role.USER and message.provenance is Provenance.TYPED:
                sentences |= _sentences(message.content)
                if message.turn_id is not None:
                    turns[message.turn_id] = f"{turns.get(message.turn_id, '')}\n{message.content}".strip()
        return replace(self, sentences=frozenset(sentences), turns=turns)

    def with_passage(self, passage: Passage) -> AlreadyInPrompt:
        """Also what the lines of a passage quote, whole, but for those of others.

        A sentence of a long message is no line of its own: that it was said then does not tell that it holds.
        """
        own = [piece.text for piece in passage.pieces if not piece.provenance.is_foreign]
        quoted = [part for text in own for line in text.splitlines() for part in _HEAD.sub("", line).split(" | ")]
        # with and without the speaker in front, and what it asks to remember
        parts = [text for part in quoted for text in (part, _SPEAKER.sub("", part))]
        texts = {wording(text) for text in parts} | {sentence_key(text) for text in parts}
        return replace(self, sentences=self.sentences | texts)

    def says(self, content: str, line: str | None = None, turn: int | None = None) -> bool:
        """Whether all of a memory is said: by its line of MEMORY.md, by sentences, or word for word in its own turn."""
        if (line or format_line(content)) in self.lines:
            return True
        sentences = _sentences(content)
        if wording(content) in self.sentences or (sentences and sentences <= self.sentences):
            return True
        return turn is not None and turn in self.turns and is_quoted_from(content, self.turns[turn])


def quotes_in(prompt: str) -> frozenset[str]:
    """What the lines of a prompt quote of earlier conversations, each exchange as one text, without its moment."""
    return frozenset(_HEAD.sub("", line) for line in prompt.splitlines())


def sentence_key(sentence: str) -> str:
    """Return what two sentences have in common that say the same: "remember that" in front doesn't count."""
    request = requested(sentence)
    return wording(_MARKS.sub("", request.what if request is not None else sentence))


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) < MIN_SENTENCE_WORDS and len(sentence) < MIN_SENTENCE_CHARS


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text as they stand in it."""
    return [part for line in text.splitlines() for part in _ENDS.split(line) if part.strip()]


def _quoted_parts(text: str) -> Iterator[str]:
    """Yield the sentences of a text in which messages are quoted, without who says them and when."""
    for line in text.splitlines():
        for part in _NOTED.sub("", line).split(" | "):
            yield from (sentence for sentence in _ENDS.split(_SPEAKER.sub("", part)) if sentence.strip())


def _sentences(text: str) -> frozenset[str]:
    """What a text says, sentence by sentence, however it is laid out."""
    parts = (_MARKS.sub("", part) for line in text.splitlines() for part in _ENDS.split(line))
    return frozenset(message_text for part in parts if (message_text := wording(part)))


NOTHING_IN_PROMPT = AlreadyInPrompt()

CHUNK = 50
"""So many lines are read at a time."""
SHORTEST_PAGE = 10
"""Tokens of an entry's text on a page at the least, whatever its name and its source take of the result."""
_ENDING = "(9999 more: page=99)"


class NoSuchPage(MnemeError):
    """What was asked for has fewer pages."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something found, in one line. entry: its id where it is one; headings: what stands above it and its like."""

    text: str
    provenance: Provenance
    entry: int | None = None
    headings: tuple[str, ...] = ()


@dataclass(slots=True)
class ResultPage:
    """What stands on a page. entries: the ids of those on it; left: how many lines come after it."""

    number: int
    lines: list[str] = field(default_factory=list)
    provenances: list[Provenance] = field(default_factory=list)
    entries: set[int] = field(default_factory=set)
    left: int = 0

    @property
    def passage(self) -> Passage:
        """All of it for a model, with what is left and how to get it."""
        rest = [f"({self.left} more: page={self.number + 1})"] if self.left else []
        return Passage("\n".join([*self.lines, *rest]), worst(self.provenances))


Fetch = Callable[[int], Awaitable[Sequence[Line]]]
"""Reads the lines from the one with that number (from 0) on, CHUNK of them."""


class Paging:
    """Fills pages of `tokens`, the line included that says what is left."""

    def __init__(self, tokens: int, counter: TokenCounter) -> None:
        self._tokens = tokens
        self._counter = counter

    async def page(self, fetch: Fetch, total: int, number: int = 1, head: str = "") -> ResultPage:
        """Page `number` (from 1) of `total` lines. head: stands first on every page. Raises NoSuchPage."""
        filling, done = _Filling(1, self._tokens, self._counter, head), 0
        for start in range(0, total, CHUNK):
            for line in await fetch(start):
                if not filling.add(line, is_last=done + 1 == total):
                    page = filling.page
                    if page.number == number:
                        page.left = total - done
                        return page
                    filling = _Filling(page.number + 1, self._tokens, self._counter, head)
                    filling.add(line, is_last=done + 1 == total)
                done += 1
        if filling.page.number < number:
            raise NoSuchPage(f"there is no page {number}: {filling.page.number} is the last")
        return filling.page

    def pages_of(self, about: str, text: str) -> list[str]:
        """`text` in pages that have room after `about`; where there are several, each begins with its number."""
        if self._counter.text(f"{about} {text}") <= self._tokens:
            return [text]
        longest = " (page 99 of 99, page=99 shows more) "
        room = max(SHORTEST_PAGE, self._tokens - self._counter.text(f"{about}{longest}"))
        parts: list[str] = []
        while text:
            part = fitting(text, room, self._counter)
            # between words, where there are any
            end = max(part.rfind("\n"), part.rfind(" ")) + 1
            part = part if part == text or end <= len(part) // 2 else part[:end]
            parts.append(part)
            text = text[len(part) :]
        return [
            f"(page {number} of {len(parts)}{f', page={number + 1} shows more' if number < len(parts) else ''}) {part}"
            for number, part in enumerate(parts, 1)
        ]


class _Filling:
    """A page that is being filled."""

    def __init__(self, number: int, tokens: int, counter: TokenCounter, head: str) -> None:
        self.page = ResultPage(number, [head] if head else [])
        self._counter = counter
        self._reserved = counter.text(_ENDING) + 1
        self._left = tokens - (counter.text(head) + 1 if head else 0)
        self._headings: tuple[str, ...] = ()
        self._is_empty = True

    def add(self, line: Line, *, is_last: bool) -> bool:
        """Add a line if there is room; of the first one as much as there is room for."""
        text = "\n".join([*_new(line.headings, self._headings), line.text])
        room = self._left - (0 if is_last else self._reserved)
        if (cost := self._counter.text(text) + 1) > room + 1:
            if not self._is_empty:
                return False
            text = cut(text, max(1, room), self._counter)
            cost = self._counter.text(text) + 1
        self._left -= cost
        self._headings = line.headings
        self._is_empty = False
        self.page.lines.append(text)
        self.page.provenances.append(line.provenance)
        self.page.entries |= {line.entry} if line.entry is not None else set()
        return True


def _new(headings: Sequence[str], above: Sequence[str]) -> Sequence[str]:
    """The headings from the first on that is not above already."""
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(headings, above, strict=False))
    return headings[len([*same]) :]


def cut(text: str, tokens: int, counter: TokenCounter) -> str:
    """`text`, or as much of its beginning as fits, with a mark that it goes on."""
    return text if counter.text(text) <= tokens else f"{fitting(text, tokens, counter, '…')}…"


def fitting(text: str, tokens: int, counter: TokenCounter, end: str = "") -> str:
    """As much of the beginning of `text` as fits with `end` after it; one character at the least."""
    while len(text) > 1 and (cost := counter.text(f"{text}{end}")) > tokens:
        text = text[: max(1, min(len(text) - 1, len(text) * tokens // cost))]
    return text
