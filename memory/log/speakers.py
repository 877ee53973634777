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
        """The name to log somebody under who goes by `name`: with a number behind it where it is another's already."""
        # no LIKE: a name may have its wildcards in it
        rows = await self._database.rows(
            "SELECT s.key, s.speaker_id FROM speakers s JOIN owners o ON o.id = s.owner_id"
            " WHERE o.name = ? AND substr(s.key, 1, length(?)) = ?",
            (owner, plain(name), plain(name)),
        )
        speakers = {row["key"]: row["speaker_id"] for row in rows}
        called = (name if number == 1 else f"{name} {number}" for number in itertools.count(1))
        free = next(name for name in called if speakers.get(plain(name), speaker_id) == speaker_id)
        if plain(free) not in speakers:
            await self._keep(owner, speaker_id, plain(free))
        return free

    async def _keep(self, owner: str, speaker_id: str, key: str) -> None:
        try:
            async with self._database.transaction() as connection:
                await connection.execute(
                    "INSERT INTO speakers (owner_id, key, speaker_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (await owner_number(connection, owner), key, speaker_id),
                )
        except StoreError:
            return  # on a full disk nobody learns anything either, and people are answered
