"""When the scheduler's jobs ran last: kept, so that what a downtime missed is caught up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.clock import from_text, to_text

if TYPE_CHECKING:
    from datetime import datetime

    from memory.store.database import Database


class JobLog:
    """The last moment of each job."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ran_at(self, name: str) -> datetime | None:
        """When a job ran last; None for never."""
        found = await self._database.value("SELECT ran_at FROM jobs WHERE name = ?", (name,))
        return from_text(found) if found else None

    async def mark(self, name: str, now: datetime) -> None:
        """Note that a job has run."""
        await self._database.write("INSERT OR REPLACE INTO jobs (name, ran_at) VALUES (?, ?)", (name, to_text(now)))
