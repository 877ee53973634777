"""What a file of another program holds, in the shapes that all readers give."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memory.errors import MnemeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memory.imports.source import ImportSource


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
    """Reads what one program writes."""

    name: str
    """What the program is called."""

    def detects(self, source: ImportSource) -> bool:
        """Whether the file is one of that program, by what is in it."""

    def read(self, source: ImportSource) -> Iterator[Item]:
        """All that is in it, a piece at a time. Raises ImportRefused or ValueError for what is damaged."""


def digest_of(*texts: str) -> str:
    """What tells texts from others."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return digest.hexdigest()[:32]
