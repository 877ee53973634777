"""Citations: which message a model names as its source, and whether the words that it quotes stand there."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.evidence.assent import affirms
from memory.messages import Provenance, Role
from memory.text.forms import comparable, unelided

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.evidence.fact import Citation
    from memory.messages import Message

_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.{3,}|…)\]?)\s*")


class Standing(StrEnum):
    """How a citation stands."""

    BORNE_OUT = "borne out"
    NOT_FOUND = "not found"
    NOT_AFFIRMED = "not affirmed"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a quote was looked for and found. at: the place of the message, None where it was not found."""

    standing: Standing
    at: int | None = None


def is_quoted_from(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text` word for word; what it leaves out by an ellipsis may be anything."""
    said = comparable(unelided(text))
    parts = [part for part in (comparable(unelided(piece)) for piece in _ELLIPSIS.split(quote)) if part]
    start = 0
    for part in parts:
        found = _find(part, said, start)
        if found is None:
            return False
        start = found + len(part)
    return bool(parts)


def source_of(citation: Citation, messages: Sequence[Message]) -> Source:
    """The message that bears a citation out.

    The named message comes first. Models count wrongly, so otherwise the nearest of the user's own that holds the
    quote will do; what only somebody else wrote is said to be foreign.
    """
    named = None if citation.message is None else citation.message - 1
    standings = []
    for at in _nearest_first(named, len(messages)):
        if is_quoted_from(citation.quote, messages[at].content):
            standing = _standing(messages, at)
            if standing is Standing.BORNE_OUT:
                return Source(standing, at)
            standings.append(Source(standing, at))
    return standings[0] if standings else Source(Standing.NOT_FOUND)


def _standing(messages: Sequence[Message], at: int) -> Standing:
    message = messages[at]
    if message.role is Role.USER:
        return Standing.BORNE_OUT if message.provenance is Provenance.TYPED else Standing.FOREIGN
    if message.provenance is not None and message.provenance.is_foreign:
        return Standing.FOREIGN
    return Standing.BORNE_OUT if is_affirmed(messages, at) else Standing.NOT_AFFIRMED


def is_affirmed(messages: Sequence[Message], at: int) -> bool:
    """Whether the user's next message says yes to what the assistant says in this one."""
    if messages[at].role is not Role.ASSISTANT or at + 1 >= len(messages):
        return False
    answer = messages[at + 1]
    is_users = answer.role is Role.USER and answer.provenance is Provenance.TYPED
    return is_users and affirms(answer.content, messages[at].content)


def _nearest_first(named: int | None, count: int) -> Iterator[int]:
    if named is None or not 0 <= named < count:
        yield from range(count)
        return
    yield named
    yield from sorted((at for at in range(count) if at != named), key=lambda at: abs(at - named))


def _find(part: list[str], said: list[str], start: int) -> int | None:
    places = (at for at, word in itertools.islice(enumerate(said), start, None) if word == part[0])
    return next((at for at in places if said[at : at + len(part)] == part), None)
