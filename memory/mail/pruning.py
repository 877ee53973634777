"""Deletion of old mail, usage and reminders, and row counts for metrics. The log is never pruned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from memory.clock import Clock, to_text
from memory.store.database import Database
from memory.store.entry_rows import LIVE

RETENTION = timedelta(days=30)
"""Telegram repeats updates for a day. The rest of the time is for the analysis of problems."""

_PAST_REMINDERS = (
    "reminders WHERE state NOT IN ('waiting', 'telling')"
    " AND max(coalesce(next_at, ''), coalesce(told_for, created_at)) < ?"
    # Reminders offered for a memory's date stay, so that they are offered only once.
    " AND entry_id IS NULL"
)


class Pruning:
    """Deletes rows older than RETENTION, except for waiting mail."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def prune(self) -> int:
        before = to_text(self._clock() - RETENTION)
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


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Row counts for metrics. `memories` counts live entries by kind."""

    inbox: int
    outbox: int
    memories: dict[str, int]


async def count_tables(database: Database) -> TableCounts:
    kinds = await database.rows(f"SELECT kind, count(*) AS number FROM entries e WHERE {LIVE} GROUP BY kind")
    return TableCounts(
        inbox=await database.value("SELECT count(*) FROM inbox WHERE state <> 'done'"),
        outbox=await database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"),
        memories={row["kind"]: row["number"] for row in kinds},
    )
