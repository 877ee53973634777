"""The vocabulary of entries: kinds, authors, operations, and the entry itself (S1, S4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime


class Kind(StrEnum):
    """What an entry is: notes and archives (S1), typed memories (S4), episodes."""

    NOTE = "note"
    ARCHIVE = "archive"
    POLICY = "policy"
    WORKFLOW = "workflow"
    PITFALL = "pitfall"
    ARCHITECTURE = "architecture"
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    EPISODE = "episode"


class Author(StrEnum):
    """Who wrote an entry."""

    USER = "user"
    MODEL = "model"
    CAPTURE = "capture"
    CONSOLIDATION = "consolidation"
    COMPACTION = "compaction"
    IMPORT = "import"


class Operation(StrEnum):
    """The closed set of changes (S1)."""

    ADD = "add"
    RENAME = "rename"
    ALIAS = "alias"
    WRITE = "write"
    REMOVE = "remove"
    LEARN = "learn"


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in the memory store. kind is a plain string where this version does not know it."""

    id: int
    owner: str
    name: str
    aliases: tuple[str, ...]
    kind: Kind | str
    content: str
    tags: tuple[str, ...]
    scope: str | None
    priority: str
    author: str
    trusted: bool
    source_message_id: int | None
    reinforcement_count: int
    created_at: datetime
    subject: str | None
    valid_from: datetime
    superseded_by: int | None
    archived_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What Add is given. name None: one is made of `stem` and the telling words of `topic`, or else of the content."""

    content: str
    name: str | None = None
    stem: str = ""
    topic: str = ""
    kind: Kind | str = Kind.NOTE
    author: Author = Author.USER
    tags: tuple[str, ...] = ()
    scope: str | None = None
    priority: str = "normal"
    source_message_id: int | None = None
    trusted: bool = True
    subject: str | None = None
    valid_from: datetime | None = None
