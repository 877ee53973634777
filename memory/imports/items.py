"""What a file of another program holds, in the shapes that all readers give."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.imports.source import ImportSource


PART = 500
"""Messages of a chat of people that are one conversation."""
MAX_PART_CHARS = 4_000_000
"""Characters of such a conversation, which only messages far longer than those of a messenger reach."""
MAX_MESSAGE_CHARS = 1_000_000
"""Characters of a message that are kept."""
MAX_ID_CHARS = 200
"""Characters of an id or a name that another program chose."""
_YEARS = range(1970, 2200)


class ImportRefused(MnemeError):
    """A file can't be imported. The text says why; nothing was changed."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """One message. by_assistant: a model wrote it. speaker: who wrote it in a chat of people."""

    text: str
    at: datetime
    by_assistant: bool = False
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """A conversation, oldest message first. source_id: by which the same one is known in a later export."""

    source_id: str
    messages: tuple[ImportedMessage, ...]


@dataclass(frozen=True, slots=True)
class ImportedMemory:
    """What another program remembered, in its words. at: since when, where that is known."""

    text: str
    at: datetime | None = None

    @property
    def source_id(self) -> str:
        """The same words are the same memory."""
        return f"memory {digest_of(self.text)}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not taken, and what it is, in words for a person."""

    what: str


Item = ImportedConversation | ImportedMemory | LeftOut


class Reader(Protocol):
    name: str
    """What the program is called."""

    def detects(self, source: ImportSource) -> bool:
        """Whether the file is one of that program, by what is in it."""

    def read(self, source: ImportSource) -> Iterator[Item]:
        """All that is in it, a piece at a time. Raises ImportRefused or ValueError for what is damaged."""


class Digest:
    """What tells the texts that were added from others."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, text: str) -> None:
        self._hash.update(text.encode("utf-8", "surrogatepass"))
        # tells ("ab", "c") from ("a", "bc")
        self._hash.update(b"\0")

    @property
    def value(self) -> str:
        return self._hash.hexdigest()[:32]


def digest_of(*texts: str) -> str:
    digest = Digest()
    for text in texts:
        digest.add(text)
    return digest.value


def moment_of(value: object) -> datetime:
    """Parse an ISO 8601 date, in UTC if it names no zone. Raises ValueError if it is none or out of range."""
    if not isinstance(value, str):
        raise ValueError("a date is missing")  # of a file: it is its content that is wrong
    moment = datetime.fromisoformat(value)
    return plausible(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def moment_at(timestamp: float) -> datetime:
    """Convert a Unix timestamp. Raises ValueError if it is out of range."""
    try:
        return plausible(datetime.fromtimestamp(timestamp, UTC))
    except (OverflowError, OSError) as error:
        raise ValueError(f"{timestamp} is no moment") from error


def plausible(moment: datetime) -> datetime:
    """Refuse years in which no export was written, and which may not fit when a time zone is applied."""
    if moment.year not in _YEARS:
        raise ValueError("a date is out of range")
    return moment


class ChatParts:
    """Cuts a chat of people into conversations: it has no ends, and paging through years would help no reader."""

    def __init__(self, chat: str) -> None:
        self._chat = chat
        self._number = 0
        self._part: list[ImportedMessage] = []
        self._chars = 0

    def add(self, message: ImportedMessage) -> Iterator[ImportedConversation]:
        self._part.append(message)
        self._chars += len(message.text)
        if len(self._part) == PART or self._chars > MAX_PART_CHARS:
            yield from self.rest()

    def rest(self) -> Iterator[ImportedConversation]:
        if self._part:
            yield ImportedConversation(f"{self._chat}/{self._number}", tuple(self._part))
            self._number, self._part, self._chars = self._number + 1, [], 0
