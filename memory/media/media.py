"""Media that users sent, stored by reference. The channel stores the bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from config.texts import N_, _
from memory.clock import Clock, now_text
from memory.log.sessions import Session
from memory.messages import make_storable
from memory.store.database import Database, Row
from memory.store.entry_rows import get_or_create_owner_id

MAX_NAME_CHARS = 80
"""Characters of a file name to show. The sender can choose any name."""
_NAME_REPLACEMENTS = str.maketrans("[]\n\r\t", "()   ")


class MediaKind(StrEnum):
    """The kind of a file. The values are shown to users and models."""

    PHOTO = "photo"
    DOCUMENT = "document"
    VOICE = "voice message"
    AUDIO = "recording"
    VIDEO_NOTE = "video note"
    OTHER = "file"  # A file that can't be read.

    @property
    def is_spoken(self) -> bool:
        return self in (MediaKind.VOICE, MediaKind.AUDIO, MediaKind.VIDEO_NOTE)

    @property
    def is_own_voice(self) -> bool:
        """Return True if the sender recorded it in the chat, so that the words are the sender's own."""
        return self in (MediaKind.VOICE, MediaKind.VIDEO_NOTE)


_NAMELESS = {
    MediaKind.PHOTO: N_("this photo"),
    MediaKind.DOCUMENT: N_("this document"),
    MediaKind.VOICE: N_("this voice message"),
    MediaKind.AUDIO: N_("this recording"),
    MediaKind.VIDEO_NOTE: N_("this video note"),
    MediaKind.OTHER: N_("this file"),
}


@dataclass(frozen=True, slots=True)
class MediaFile:
    """A file on its channel.

    Attributes:
        file_id: The id for downloads.
        unique_id: An id that stays the same if the file is sent again.
        size: Size in bytes, if known.
        quoted: Whether it belongs to the message that the user replied to.
    """

    kind: MediaKind
    channel: str
    file_id: str
    unique_id: str
    name: str | None = None
    mime_type: str | None = None
    size: int | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Media:
    """A stored file with its number. `about` describes its contents, or is None if it was not read yet."""

    id: int
    file: MediaFile
    about: str | None

    @property
    def model_label(self) -> str:
        """Return its label for a model, such as `document 13: offer.pdf`."""
        return f"{self.file.kind} {self.id}{f': {self.name}' if self.file.name else ''}"

    @property
    def name(self) -> str:
        """Return its cleaned name, or a description of its kind in the user's language."""
        plain = " ".join((self.file.name or "").translate(_NAME_REPLACEMENTS).split())
        return plain[:MAX_NAME_CHARS] or _(_NAMELESS[self.file.kind])


class MediaStore:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._owners: dict[str, bool] = {}

    async def has_any(self, owner: str) -> bool:
        """Return True if the owner has ever sent media. The result is cached, since every turn asks."""
        if owner not in self._owners:
            query = "SELECT 1 FROM media m JOIN owners o ON o.id = m.owner_id WHERE o.name = ? LIMIT 1"
            self._owners[owner] = await self._database.value(query, (owner,)) is not None
        return self._owners[owner]

    async def store(self, session: Session, file: MediaFile) -> Media:
        """Store a file and return it. If it was sent to the session before, return the same number."""
        database = await self._database.private.get_database(session.id)
        async with database.transaction() as connection:
            await connection.execute(
                "INSERT INTO media (owner_id, session_id, kind, channel, file_id, unique_id, name, mime_type, size,"
                " created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (owner_id, session_id, unique_id) DO UPDATE SET file_id = excluded.file_id",
                (
                    owner := await get_or_create_owner_id(connection, session.owner),
                    session.id,
                    file.kind,
                    file.channel,
                    file.file_id,
                    file.unique_id,
                    make_storable(file.name) if file.name else None,
                    file.mime_type,
                    file.size,
                    now_text(self._clock),
                ),
            )
            (row,) = await connection.execute_fetchall(
                "SELECT id, about FROM media WHERE owner_id = ? AND session_id = ? AND unique_id = ?",
                (owner, session.id, file.unique_id),
            )
        self._owners[session.owner] = True
        return Media(row["id"], file, row["about"])

    async def get(self, owner: str, media_id: int, session_id: str) -> Media | None:
        """Return a file by number, or None if it isn't the owner's or isn't visible in the session."""
        database = self._database.private.get_database_with_row(media_id)
        only = None if database is self._database else session_id  # Media of a private talk stay in its session
        row = await database.row(
            "SELECT m.* FROM media m JOIN owners o ON o.id = m.owner_id WHERE m.id = ? AND o.name = ?"
            " AND (? IS NULL OR m.session_id = ?)",
            (media_id, owner, only, only),
        )
        return media_from_row(row) if row is not None else None


def media_from_row(row: Row) -> Media:
    file = MediaFile(
        MediaKind(row["kind"]),
        row["channel"],
        row["file_id"],
        row["unique_id"],
        row["name"],
        row["mime_type"],
        row["size"],
    )
    return Media(row["id"], file, row["about"])
