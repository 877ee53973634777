"""Use makes a memory stronger (S4): each recall raises its count, an explicit request resets its decay too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.store.decay import MOST_REINFORCED

if TYPE_CHECKING:
    from collections.abc import Iterable

    import aiosqlite

    from memory.store.database import Database


class Reinforcement:
    """Counts the uses of entries. It is bookkeeping, no change of memory: /undo passes it over."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def recalled(self, entry_ids: Iterable[int]) -> None:
        """These entries were recalled; the caller sees to it that a turn recalls each once."""
        used = [(MOST_REINFORCED, entry_id) for entry_id in entry_ids]
        if used:
            async with self._database.transaction() as connection:
                await connection.executemany(
                    "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?) WHERE id = ?", used
                )


async def reinforce(connection: aiosqlite.Connection, entry_id: int, now: str) -> None:
    """Somebody asked in so many words to have this remembered: it counts once more, and decays from now on.

    What was archived comes back by that.
    """
    await connection.execute(
        "UPDATE entries SET reinforcement_count = min(reinforcement_count + 1, ?), last_reinforced_at = ?,"
        " archived_at = NULL WHERE id = ?",
        (MOST_REINFORCED, now, entry_id),
    )
