"""Media that users sent, stored by reference together with their extracted text. The channel stores the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from config.texts import N_, _
from memory.clock import Clock, now_text
from memory.log.sessions import Session
from memory.messages import make_storable
from memory.store.database import Database, Row
from memory.store.entry_rows import get_or_create_owner_id
from memory.text.words import extract_query_terms

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


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a document. `label` names it, such as `page 3`."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class FoundPart:
    media: Media
    number: int
    part: Part


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
        row = await database.row(
            "SELECT m.* FROM media m JOIN owners o ON o.id = m.owner_id WHERE m.id = ? AND o.name = ?"
            " AND (? IS NULL OR m.session_id = ?)",
            (media_id, owner, *self._session_parameters(database, session_id)),
        )
        return _media_from_row(row) if row is not None else None

    async def store_text(self, media: Media, about: str, parts: Sequence[Part]) -> Media:
        """Store the description and the text of a file. They replace earlier ones."""
        async with self._database.private.get_database_with_row(media.id).transaction() as connection:
            await connection.execute("DELETE FROM media_parts WHERE media_id = ?", (media.id,))
            await connection.executemany(
                "INSERT INTO media_parts (media_id, owner_id, number, label, content)"
                " SELECT id, owner_id, ?, ?, ? FROM media WHERE id = ?",
                [(n, part.label, make_storable(part.text), media.id) for n, part in enumerate(parts, 1)],
            )
            await connection.execute("UPDATE media SET about = ? WHERE id = ?", (about, media.id))
        return Media(media.id, media.file, about)

    async def read_parts(self, media: Media, first: int = 1, last: int | None = None) -> list[Part]:
        rows = await self._database.private.get_database_with_row(media.id).rows(
            "SELECT label, content FROM media_parts WHERE media_id = ? AND number >= ? AND (? IS NULL OR number <= ?)"
            " ORDER BY number",
            (media.id, first, last, last),
        )
        return [Part(row["label"], row["content"]) for row in rows]

    async def count_parts(self, media: Media) -> int:
        database = self._database.private.get_database_with_row(media.id)
        return int(await database.value("SELECT count(*) FROM media_parts WHERE media_id = ?", (media.id,)))

    async def search(
        self, owner: str, query: str, limit: int, session_id: str, media_id: int | None = None
    ) -> list[FoundPart]:
        """Return the parts of documents that match a query, best first, with those of a private talk first.

        Args:
            media_id: Search only this document. None means all.
        """
        terms = extract_query_terms(query)
        found: list[FoundPart] = []
        for database in reversed(self._database.private.list_databases()):
            owner_id = await database.value("SELECT id FROM owners WHERE name = ?", (owner,))
            if owner_id is None or not terms:
                continue
            rows = await database.rows(
                "SELECT m.*, p.number, p.label, p.content FROM search_parts s"
                " JOIN media_parts p ON p.id = s.rowid JOIN media m ON m.id = p.media_id"
                " WHERE search_parts MATCH ? AND (? IS NULL OR m.id = ?) AND (? IS NULL OR m.session_id = ?)"
                " ORDER BY bm25(search_parts, 0, 1), p.id LIMIT ?",
                (
                    # The owner is an indexed word, so that the index finds only the owner's parts.
                    f'owner : "o{owner_id}" AND (body : ({" OR ".join(terms)}))',
                    *(media_id, media_id, *self._session_parameters(database, session_id), limit),
                ),
            )
            found += [
                FoundPart(_media_from_row(row), row["number"], Part(row["label"], row["content"])) for row in rows
            ]
        return found[:limit]

    def _session_parameters(self, database: Database, session_id: str) -> tuple[str | None, str | None]:
        """Return the SQL parameters that limit media of a private talk to its session. None means no limit."""
        only = None if database is self._database else session_id
        return only, only


def _media_from_row(row: Row) -> Media:
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
