"""Uses of memories, which make them stronger (S4)."""

from __future__ import annotations

from collections.abc import Iterable

import aiosqlite

from memory.store.database import Database
from memory.store.decay import MAX_REINFORCEMENTS


class Reinforcement:
    """Counts the uses of entries. These are not changes that /undo could take back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def count_recall(self, entry_ids: Iterable[int]) -> None:
        used = [(MAX_REINFORCEMENTS, entry_id) for entry_id in entry_ids]
        if used:
            async with self._database.transaction() as connection:
                await connection.executemany(
                    "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?) WHERE id = ?", used
                )


async def reinforce(connection: aiosqlite.Connection, entry_id: int, now: str) -> None:
    """Count an explicit request to remember an entry: its decay starts again, and it is no longer archived."""
    await connection.execute(
        "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?), last_reinforced_at = ?,"
        " archived_at = NULL WHERE id = ?",
        (MAX_REINFORCEMENTS, now, entry_id),
    )
