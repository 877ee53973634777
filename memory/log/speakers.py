"""What people are called in the log of a group: by names that are theirs alone, whatever they call themselves.

The log, the memory that is made of it and the model know people by their names. A name that somebody else could take
would be a way to speak, correct and be believed in their place.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from memory.errors import StoreError
from memory.store.entry_rows import owner_number
from memory.text.words import plain

if TYPE_CHECKING:
    from memory.store.database import Database


class Speakers:
    """The names in the groups of one channel, by the channel's own ids of people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def name_of(self, owner: str, speaker_id: str, name: str) -> str:
        """Return the name to log somebody under who goes by `name` now.

        It is the first one that they were logged under, so that memory knows somebody who changes their name as the
        same person. A name that is another's already gets a number.
        """
        # no LIKE: a name may have its wildcards in it
        rows = await self._database.rows(
            "SELECT s.key, s.speaker_id, s.name FROM speakers s JOIN owners o ON o.id = s.owner_id"
            " WHERE o.name = ? AND (s.speaker_id = ? OR substr(s.key, 1, length(?)) = ?) ORDER BY s.name IS NULL",
            (owner, speaker_id, plain(name), plain(name)),
        )
        own = [row for row in rows if row["speaker_id"] == speaker_id]
        if own and own[0]["name"] is not None:
            return str(own[0]["name"])
        if own:
            # former versions kept no more than the key
            first = await self._first_logged(owner, {row["key"] for row in own}) or name
            await self._keep(owner, speaker_id, first)
            return first
        taken = {row["key"] for row in rows}
        called = (name if number == 1 else f"{name} {number}" for number in itertools.count(1))
        free = next(name for name in called if plain(name) not in taken)
        await self._keep(owner, speaker_id, free)
        return free

    async def _first_logged(self, owner: str, keys: set[str]) -> str | None:
        """Return the first name in the log that has one of `keys`, as it is written there."""
        rows = await self._database.rows(
            "SELECT m.speaker FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            " JOIN owners o ON o.id = c.owner_id WHERE o.name = ? AND m.speaker IS NOT NULL"
            " GROUP BY m.speaker ORDER BY min(m.id)",
            (owner,),
        )
        return next((row["speaker"] for row in rows if plain(row["speaker"]) in keys), None)

    async def _keep(self, owner: str, speaker_id: str, name: str) -> None:
        try:
            async with self._database.transaction() as connection:
                await connection.execute(
                    "INSERT INTO speakers (owner_id, key, speaker_id, name) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (owner_id, key) DO UPDATE SET name = excluded.name"
                    " WHERE speaker_id = excluded.speaker_id",
                    (await owner_number(connection, owner), plain(name), speaker_id, name),
                )
        except StoreError:
            return  # on a full disk nothing is learned either, and people are answered
