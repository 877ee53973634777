"""Unique names of the members of a group in its log.

The log, the memory and the model identify people by their names, so a member must not be able to take another's name.
"""

from __future__ import annotations

import itertools

from memory.errors import StoreError
from memory.store.database import Database
from memory.store.entry_rows import get_or_create_owner_id
from memory.text.words import to_plain


class Speakers:
    """The logged names of members, by the channel's ids of people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def choose_name(self, owner: str, speaker_id: str, name: str) -> str:
        """Return the name under which a member is logged.

        It is the first name that they had, so that it doesn't change when they rename themselves. A name that another
        member has gets a number.
        """
        # No LIKE, since a name may contain its wildcards.
        rows = await self._database.rows(
            "SELECT s.key, s.speaker_id, s.name FROM speakers s JOIN owners o ON o.id = s.owner_id"
            " WHERE o.name = ? AND (s.speaker_id = ? OR substr(s.key, 1, length(?)) = ?) ORDER BY s.name IS NULL",
            (owner, speaker_id, to_plain(name), to_plain(name)),
        )
        own = [row for row in rows if row["speaker_id"] == speaker_id]
        if own and own[0]["name"] is not None:
            return str(own[0]["name"])
        if own:
            # Former versions stored only the key.
            first = await self._find_first_logged(owner, {row["key"] for row in own}) or name
            await self._store(owner, speaker_id, first)
            return first
        taken = {row["key"] for row in rows}
        called = (name if number == 1 else f"{name} {number}" for number in itertools.count(1))
        free = next(name for name in called if to_plain(name) not in taken)
        await self._store(owner, speaker_id, free)
        return free

    async def _find_first_logged(self, owner: str, keys: set[str]) -> str | None:
        """Return the first speaker in the log with one of the `keys`."""
        rows = await self._database.rows(
            "SELECT m.speaker FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            " JOIN owners o ON o.id = c.owner_id WHERE o.name = ? AND m.speaker IS NOT NULL"
            " GROUP BY m.speaker ORDER BY min(m.id)",
            (owner,),
        )
        return next((row["speaker"] for row in rows if to_plain(row["speaker"]) in keys), None)

    async def _store(self, owner: str, speaker_id: str, name: str) -> None:
        try:
            async with self._database.transaction() as connection:
                await connection.execute(
                    "INSERT INTO speakers (owner_id, key, speaker_id, name) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (owner_id, key) DO UPDATE SET name = excluded.name"
                    " WHERE speaker_id = excluded.speaker_id",
                    (await get_or_create_owner_id(connection, owner), to_plain(name), speaker_id, name),
                )
        except StoreError:
            return  # On a full disk, answer anyway. Nothing is learned then either.
