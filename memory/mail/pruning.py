"""What is kept for a while only: settled mail, past reminders, counts of tokens. The log is none of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, to_text

if TYPE_CHECKING:
    from memory.store.database import Database

KEPT = timedelta(days=30)
"""Long after Telegram would send an update again (a day), and long enough to look into what went wrong."""

_PAST_REMINDERS = (
    "reminders WHERE state NOT IN ('waiting', 'telling')"
    " AND max(coalesce(next_at, ''), coalesce(told_for, created_at)) < ?"
    # what was offered for a memory's date stays: it is offered once
    " AND entry_id IS NULL"
)


class Pruning:
    """Deletes what is older than KEPT. Mail that waits stays, however old it is."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def prune(self) -> int:
        """Delete it; how many rows went."""
        before = to_text(self._clock() - KEPT)
        gone = 0
        async with self._database.transaction() as connection:
            for old in (
                "inbox WHERE state = 'done' AND received_at < ?",
                "outbox WHERE state <> 'waiting' AND coalesce(settled_at, created_at) < ?",
                "usage WHERE at < ?",
                "set_aside WHERE at < ?",
                "effects WHERE at < ?",
                _PAST_REMINDERS,
            ):
                gone += (await connection.execute(f"DELETE FROM {old}", (before,))).rowcount
        return gone
