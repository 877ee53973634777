"""Citations: which message a model names as its source, and whether the words that it quotes stand there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.messages import Provenance, Role
from memory.text.same_words import comparable, is_quoted_from, is_unspaced
from memory.text.words import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from memory.facts.fact import Citation
    from memory.messages import Message

MOST_BORROWED = 1
"""Telling words that only a foreign text has and that may be chance, such as another form of a word."""


class CitationStatus(StrEnum):
    """Whether a citation stands."""

    VERIFIED = "verified"
    NOT_FOUND = "not found"
    NOT_AFFIRMED = "not affirmed"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a quote was looked for and found. at: the place of the message, None where it was not found."""

    status: CitationStatus
    at: int | None = None


def find_source(citation: Citation, messages: Sequence[Message]) -> Source:
    """The message that a citation is from.

    The named message comes first. Models count wrongly, so otherwise the nearest one that the user typed and that
    holds the quote will do.
    """
    named = None if citation.message is None else citation.message - 1
    others = []
    for at in _nearest_first(named, len(messages)):
        if is_quoted_from(citation.quote, messages[at].content):
            status = status_of(messages, at)
            if status is CitationStatus.VERIFIED:
                return Source(status, at)
            others.append(Source(status, at))
    return others[0] if others else Source(CitationStatus.NOT_FOUND)


def typed_source(citation: Citation, messages: Sequence[Message]) -> int | None:
    """The place of the message that a citation is from, if the user typed it; None otherwise."""
    source = find_source(citation, messages)
    return source.at if source.at is not None and is_typed(messages[source.at]) else None


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
    """Whether a message is the user's own words."""
    return message.role is Role.USER and message.provenance is Provenance.TYPED


def is_foreign(message: Message) -> bool:
    """Whether others' words went into a message."""
    return message.provenance is not None and message.provenance.is_foreign


def foreign_words(text: str, messages: Sequence[Message], own: Iterable[str] = ()) -> frozenset[str]:
    """The telling words of `text` that stand in a foreign message alone: no look at them talks those away.

    own: what the program knows besides, such as names. Of a script without spaces the words are pairs of characters.
    """
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
