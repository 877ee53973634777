"""What a model says it learned, the evidence that it gives, and whether that stands in what it was shown."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from config.secrets import without_secrets
from config.texts import N_
from memory.messages import Provenance, Role
from memory.store.entry import Nature
from memory.text.same_words import comparable, is_quoted_from, is_unspaced
from memory.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date
    from zoneinfo import ZoneInfo

    from memory.messages import Message
    from memory.store.entry import Entry, Kind

MOST_BORROWED = 1
"""Telling words that only a foreign text has and that may be chance, such as another form of a word."""

BEGINNING, END = 120, 200
"""How much of a long text is shown: what it is about, and what it ends with, such as a question."""


@dataclass(frozen=True, slots=True)
class Citation:
    """What a model gives as evidence. message: its number in the prompt, from 1; None where it named none."""

    message: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something learned: subject, statement, kind, since and until when, and the evidence."""

    subject: str
    text: str
    kind: Kind
    since: date | None = None
    until: date | None = None
    citation: Citation | None = None
    person: str | None = None  # whom it is about, where several people speak
    nature: Nature = Nature.STATE


class Doubt(StrEnum):
    """Why a fact is not confirmed, in the words for a person, to be translated where they are shown."""

    NOT_CHECKED = N_("I have not checked it yet")
    NO_SOURCE = N_("you did not say so in these words")
    NOT_AFFIRMED = N_("I said it, and you didn't confirm it")
    FOREIGN_WORDS = N_("part of it was written by somebody else")
    UNCLEAR = N_("it may not follow from what you said")
    CONTRADICTED = N_("it seems to contradict what you said")
    IMPORTED = N_("imported from another program")
    OUTDATED = N_("you may have corrected it since")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of conversation that facts are checked against, its messages numbered from 1."""

    messages: Sequence[Message]
    zone: ZoneInfo
    before: Sequence[Message] = ()  # just before, for who "she" is; no source


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory that a new fact may replace or say again. entry None: a line of MEMORY.md that a person wrote."""

    text: str
    subject: str | None = None
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A fact with what came of checking it."""

    fact: Fact
    doubt: Doubt | None = None
    is_foreign: bool = False  # only a foreign text says so: it is not stored at all
    message: Message | None = None  # the one that says it, where that is known
    number: int | None = None  # its place in the excerpt
    quote: str | None = None
    is_past: bool = False  # it no longer holds
    replaces: Sequence[KnownMemory] = field(default=())  # these no longer hold if it does
    repeats: Sequence[KnownMemory] = field(default=())  # these say the same


class CitationStatus(StrEnum):
    VERIFIED = "verified"
    NOT_AFFIRMED = "not affirmed"
    FOREIGN = "foreign"


def find_source(citation: Citation, messages: Sequence[Message]) -> int | None:
    """The place of the message that a citation is from; None where no message holds its quote."""
    named = None if citation.message is None else citation.message - 1
    # models count wrongly: where the named message does not hold the quote, the nearest one that the user typed and
    # that holds it counts
    nearest = _nearest_first(named, len(messages))
    holding = [at for at in nearest if is_quoted_from(citation.quote, messages[at].content)]
    verified = (at for at in holding if status_of(messages, at) is CitationStatus.VERIFIED)
    return next(verified, holding[0] if holding else None)


def typed_source(citation: Citation, messages: Sequence[Message]) -> int | None:
    """The place of the message that a citation is from, if the user typed it; None otherwise."""
    at = find_source(citation, messages)
    return at if at is not None and is_typed(messages[at]) else None


def status_of(messages: Sequence[Message], at: int) -> CitationStatus:
    """What a message is worth as a source. Whether an answer affirms what was said before it is a model's to judge."""
    message = messages[at]
    if message.role is Role.USER:
        return CitationStatus.VERIFIED if is_typed(message) else CitationStatus.FOREIGN
    if message.role is not Role.ASSISTANT:
        return CitationStatus.FOREIGN
    is_answered = at + 1 < len(messages) and is_typed(messages[at + 1])
    return CitationStatus.VERIFIED if is_answered else CitationStatus.NOT_AFFIRMED


def is_typed(message: Message) -> bool:
    return message.role is Role.USER and message.provenance is Provenance.TYPED


def is_foreign(message: Message) -> bool:
    return message.provenance is not None and message.provenance.is_foreign


def foreign_words(text: str, messages: Sequence[Message], own: Iterable[str] = ()) -> frozenset[str]:
    """Telling words of `text` that only foreign messages hold, but `own` ones such as names: no look overrules them."""
    foreign = _telling("\n".join(message.content for message in messages if is_foreign(message)))
    shared = _telling(text) & foreign if foreign else foreign
    if not shared:
        return shared
    own_texts = (*(message.content for message in messages if not is_foreign(message)), *own)
    return shared - _telling("\n".join(own_texts))


def _telling(text: str) -> frozenset[str]:
    words = comparable(text)
    pairs = (
        first + second for first, second in itertools.pairwise(words) if is_unspaced(first) and is_unspaced(second)
    )
    return frozenset(itertools.chain((w for w in words if len(w) > 1 and w not in STOP_WORDS), pairs))


def _nearest_first(named: int | None, count: int) -> Iterator[int]:
    if named is None or not 0 <= named < count:
        # the newest first: that is what a model cites that names no number
        yield from range(count - 1, -1, -1)
        return
    yield named
    yield from sorted((at for at in range(count) if at != named), key=lambda at: abs(at - named))


def transcript(messages: Iterable[tuple[int | None, Message]], zone: ZoneInfo) -> str:
    """The messages, a line each, under their days.

    Each comes with its number for the answer, or None; zone: of the days.
    """
    lines: list[str] = []
    for day, of_day in itertools.groupby(messages, key=lambda line: line[1].created_at.astimezone(zone).date()):
        # one line a day: a time before each message would be most of what the model reads
        lines.append(f"[{day:%A} {day}]")
        for number, message in of_day:
            who = message.speaker or message.role.value
            if message.role is Role.USER and message.provenance is not Provenance.TYPED:
                who += f" ({message.provenance})"
            lines.append(f"{'' if number is None else f'[{number}] '}{who}: {one_line(message.content)}")
    return "\n".join(lines)


def one_line(text: str) -> str:
    """A text in one line of a prompt, without secrets."""
    return " ".join(without_secrets(text).split())


def shortened(text: str) -> str:
    plain = one_line(text)  # masked before it is cut: half a key is no longer known for one
    return plain if len(plain) <= BEGINNING + END else f"{plain[:BEGINNING]} … {plain[-END:]}"
