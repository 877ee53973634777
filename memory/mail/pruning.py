"""What comes and goes: how much of it there is, and what is kept for a while only. The log is none of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, to_text
from memory.store.entry_rows import LIVE

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


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Numbers of an installation at one moment. memories: live entries by their kind."""

    inbox: int
    outbox: int
    memories: dict[str, int]


async def table_counts(database: Database) -> TableCounts:
    kinds = await database.rows(f"SELECT kind, count(*) AS number FROM entries e WHERE {LIVE} GROUP BY kind")
    return TableCounts(
        inbox=await database.value("SELECT count(*) FROM inbox WHERE state <> 'done'"),
        outbox=await database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"),
        memories={row["kind"]: row["number"] for row in kinds},
    )
