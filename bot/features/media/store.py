"""The text of media, in parts that can be searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.media.media import Media, media_from_row
from memory.messages import make_storable
from memory.store.database import Database
from memory.text.words import extract_query_terms
from pipeline.media.documents import Part


@dataclass(frozen=True, slots=True)
class FoundPart:
    media: Media
    number: int
    part: Part


class MediaTexts:
    def __init__(self, database: Database) -> None:
        self._database = database

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
            only = None if database is self._database else session_id  # Media of a private talk stay in its session.
            rows = await database.rows(
                "SELECT m.*, p.number, p.label, p.content FROM search_parts s"
                " JOIN media_parts p ON p.id = s.rowid JOIN media m ON m.id = p.media_id"
                " WHERE search_parts MATCH ? AND (? IS NULL OR m.id = ?) AND (? IS NULL OR m.session_id = ?)"
                " ORDER BY bm25(search_parts, 0, 1), p.id LIMIT ?",
                (
                    # The owner is an indexed word, so that the index finds only the owner's parts.
                    f'owner : "o{owner_id}" AND (body : ({" OR ".join(terms)}))',
                    *(media_id, media_id, only, only, limit),
                ),
            )
            found += [FoundPart(media_from_row(row), row["number"], Part(row["label"], row["content"])) for row in rows]
        return found[:limit]
