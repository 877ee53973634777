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
    """A moment as ISO 8601 has it, in UTC where it names no zone. Raises ValueError for what is none."""
    if not isinstance(value, str):
        raise ValueError("a date is missing")  # of a file: it is its content that is wrong
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class ChatParts:
    """A chat of people as conversations: it has no ends, and nobody wants to page through years."""

    def __init__(self, chat: str) -> None:
        self._chat = chat
        self._number = 0
        self._part: list[ImportedMessage] = []

    def add(self, message: ImportedMessage) -> Iterator[ImportedConversation]:
        self._part.append(message)
        if len(self._part) == PART:
            yield from self.rest()

    def rest(self) -> Iterator[ImportedConversation]:
        if self._part:
            yield ImportedConversation(f"{self._chat}/{self._number}", tuple(self._part))
            self._number, self._part = self._number + 1, []
