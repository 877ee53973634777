"""Facts, their citations, and the search for the cited message in a conversation."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from zoneinfo import ZoneInfo

from config.secrets import mask_secrets
from config.texts import N_
from memory.messages import Message, Provenance, Role
from memory.store.entry import Entry, Kind, Nature
from memory.text.wording import is_quoted_from, is_unspaced, split_comparable
from memory.text.words import STOP_WORDS

MAX_FOREIGN_WORDS = 1
"""Telling words that occur only in foreign text. A single word may be chance, such as another form of a known word."""
MAX_START_CHARS, MAX_END_CHARS = 120, 200
"""Characters from the start and the end of a long text. The end often contains the question."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A model's evidence. `message` is the number in the prompt, from 1, or None if the model named none."""

    message: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as extracted by a model, with its evidence. `person` is the group member that it is about."""

    subject: str
    text: str
    kind: Kind
    since: date | None = None
    until: date | None = None
    citation: Citation | None = None
    person: str | None = None
    nature: Nature = Nature.STATE


class Doubt(StrEnum):
    """Why a fact is not confirmed, as a text for the user. It is translated when it is shown."""

    NOT_CHECKED = N_("I have not checked it yet")
    NO_SOURCE = N_("you didn't say it in these words")
    NOT_AFFIRMED = N_("I said it, and you didn't confirm it")
    FOREIGN_WORDS = N_("someone else wrote part of it")
    UNCLEAR = N_("it may not follow from what you said")
    CONTRADICTED = N_("it seems to contradict what you said")
    IMPORTED = N_("imported from another program")
    OUTDATED = N_("you may have corrected it later")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a conversation that facts are checked against.

    Attributes:
        messages: The messages, numbered from 1 in prompts.
        before: The messages before them, as context for pronouns. They can't be cited.
    """

    messages: Sequence[Message]
    zone: ZoneInfo
    before: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory that a new fact may replace or repeat. `entry` is None for a line of MEMORY.md that a person wrote."""

    text: str
    subject: str | None = None
    entry: Entry | None = None

    @property
    def is_confirmed(self) -> bool:
        """Whether its words count as the user's own. An unconfirmed proposal may repeat foreign text."""
        return self.entry is None or (self.entry.trusted and self.entry.unconfirmed is None)


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A fact with the result of its check.

    Attributes:
        is_foreign: Whether only foreign text says it. Then it is not stored at all.
        message: The message that says it, if known.
        number: The number of that message in the excerpt, from 1.
        is_past: Whether it is no longer true.
        replaces: Memories that are no longer true if the fact is.
        repeats: Memories with the same content.
    """

    fact: Fact
    doubt: Doubt | None = None
    is_foreign: bool = False
    message: Message | None = None
    number: int | None = None
    quote: str | None = None
    is_past: bool = False
    replaces: Sequence[KnownMemory] = field(default=())
    repeats: Sequence[KnownMemory] = field(default=())


class CitationStatus(StrEnum):
    VERIFIED = "verified"
    NOT_AFFIRMED = "not affirmed"
    FOREIGN = "foreign"


def find_source(citation: Citation, messages: Sequence[Message]) -> int | None:
    """Return the index of the cited message, or None if no message contains the quote."""
    named = None if citation.message is None else citation.message - 1
    # Models miscount. If the named message doesn't contain the quote, use the nearest one that does, preferably one
    # that the user typed.
    nearest = _nearest_first(named, len(messages))
    holding = [at for at in nearest if is_quoted_from(citation.quote, messages[at].content)]
    verified = (at for at in holding if check_source(messages, at) is CitationStatus.VERIFIED)
    return next(verified, holding[0] if holding else None)


def find_typed_source(citation: Citation, messages: Sequence[Message]) -> int | None:
    """Return the index of the cited message if the user typed it, otherwise None."""
    at = find_source(citation, messages)
    return at if at is not None and is_typed(messages[at]) else None


def check_source(messages: Sequence[Message], at: int) -> CitationStatus:
    """Return the status of a message as a source.

    An answer is verified if the user replied to it. A model judges whether the reply agrees.
    """
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


def find_foreign_words(text: str, messages: Sequence[Message], own: Iterable[str] = ()) -> frozenset[str]:
    """Return the telling words of `text` that occur only in foreign messages, except for those in `own` texts."""
    foreign = _find_telling_words("\n".join(message.content for message in messages if is_foreign(message)))
    shared = _find_telling_words(text) & foreign if foreign else foreign
    if not shared:
        return shared
    # The result of a call may repeat its arguments, which a model may have copied from foreign text.
    said = (message.content for message in messages if not is_foreign(message) and message.tool_call_id is None)
    return shared - _find_telling_words("\n".join((*said, *own)))


def _find_telling_words(text: str) -> frozenset[str]:
    words = split_comparable(text)
    pairs = (
        first + second for first, second in itertools.pairwise(words) if is_unspaced(first) and is_unspaced(second)
    )
    return frozenset(itertools.chain((w for w in words if len(w) > 1 and w not in STOP_WORDS), pairs))


def _nearest_first(named: int | None, count: int) -> Iterator[int]:
    if named is None or not 0 <= named < count:
        # Newest first, since a model without a number usually cites a recent message.
        yield from range(count - 1, -1, -1)
        return
    yield named
    yield from sorted((at for at in range(count) if at != named), key=lambda at: abs(at - named))


def format_excerpt(messages: Iterable[tuple[int | None, Message]], zone: ZoneInfo) -> str:
    """Format messages, a line each, under headings with their days in `zone`.

    Args:
        messages: Pairs of the number for citations, or None, and the message.
    """
    lines: list[str] = []
    for day, of_day in itertools.groupby(messages, key=lambda line: line[1].created_at.astimezone(zone).date()):
        # A heading per day costs fewer tokens than a time before each message.
        lines.append(f"[{day:%A} {day}]")
        for number, message in of_day:
            who = message.speaker or message.role.value
            if message.role is Role.USER and message.provenance is not Provenance.TYPED:
                who += f" ({message.provenance})"
            lines.append(f"{'' if number is None else f'[{number}] '}{who}: {to_one_line(message.content)}")
    return "\n".join(lines)


def to_one_line(text: str) -> str:
    """Return a text in one line and without secrets."""
    return " ".join(mask_secrets(text).split())


def shorten(text: str) -> str:
    plain = to_one_line(text)  # Mask before cutting, since half a key is not recognised.
    return (
        plain
        if len(plain) <= MAX_START_CHARS + MAX_END_CHARS
        else f"{plain[:MAX_START_CHARS]} … {plain[-MAX_END_CHARS:]}"
    )
