"""What a model says it learned, with what it gives as evidence, and what came of checking it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from config.texts import N_

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from zoneinfo import ZoneInfo

    from memory.messages import Message
    from memory.store.entry import Entry, Kind


@dataclass(frozen=True, slots=True)
class Citation:
    """What a model gives as evidence. message: its number in the prompt, from 1; None where it named none."""

    message: int | None
    quote: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something learned: what it is about, what is said of it, its kind, since and until when, and on what evidence.

    person: whom it is about, where several people speak.
    """

    subject: str
    text: str
    kind: Kind
    since: date | None = None
    until: date | None = None
    citation: Citation | None = None
    person: str | None = None


class Doubt(StrEnum):
    """Why a fact is not confirmed, in the words for a person, to be translated where they are shown."""

    NOT_CHECKED = N_("I have not checked it yet")
    NO_SOURCE = N_("you did not say so in these words")
    NOT_AFFIRMED = N_("I said it, and you didn't confirm it")
    FOREIGN_WORDS = N_("part of it was written by somebody else")
    UNCLEAR = N_("it may not follow from what you said")
    CONTRADICTED = N_("it seems to contradict what you said")
    IMPORTED = N_("imported from another program")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of conversation that facts are checked against, its messages numbered from 1.

    before: the messages just before it. They tell who "she" is, and are no source.
    """

    messages: Sequence[Message]
    zone: ZoneInfo
    before: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class KnownMemory:
    """A memory that a new fact may replace or say again. entry None: a line of MEMORY.md that a person wrote."""

    text: str
    subject: str | None = None
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class CheckedFact:
    """A fact with what came of checking it.

    is_foreign: only a foreign text says so, and it is not kept at all. message: the one that says it, where that is
    known; number: its place in the excerpt. is_past: it no longer holds. replaces, repeats: the known memories that no
    longer hold if it does, and those that say the same.
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
