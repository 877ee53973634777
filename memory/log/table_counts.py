"""How much there is of what waits and of what is remembered, for those who watch from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.store.entry_rows import LIVE

if TYPE_CHECKING:
    from memory.store.database import Database


@dataclass(frozen=True, slots=True)
class TableCounts:
    """Numbers of an installation at one moment. memories: live entries by their kind."""

    inbox: int
    outbox: int
    memories: dict[str, int]


async def table_counts(database: Database) -> TableCounts:
    """Count."""
    kinds = await database.rows(f"SELECT kind, count(*) AS number FROM entries e WHERE {LIVE} GROUP BY kind")
    return TableCounts(
        inbox=await database.value("SELECT count(*) FROM inbox WHERE state <> 'done'"),
        outbox=await database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"),
        memories={row["kind"]: row["number"] for row in kinds},
    )
