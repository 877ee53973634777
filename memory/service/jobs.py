"""When the scheduler's jobs ran last, so that what a downtime missed is caught up, and what they ended."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from memory.clock import from_text, to_text
from memory.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from memory.store.database import Database

MOST_ATTEMPTS = 2
"""So many runs of the program may end while they are at the same piece of work; the next one leaves it."""


class JobLog:
    """The last moment of each job, and how often the program has ended in the middle of one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ran_at(self, name: str) -> datetime | None:
        value = await self._database.value("SELECT ran_at FROM jobs WHERE name = ?", (name,))
        return from_text(value) if value else None

    async def mark(self, name: str, now: datetime) -> None:
        await self._database.write("INSERT OR REPLACE INTO jobs (name, ran_at) VALUES (?, ?)", (name, to_text(now)))

    @contextlib.asynccontextmanager
    async def attempt(self, name: str) -> AsyncIterator[bool]:
        """Around a job that may run at a start. False: it is to be left, since the program ended in it too often."""
        before = int(await self._database.value("SELECT count FROM job_attempts WHERE name = ?", (name,)) or 0)
        may = before < MOST_ATTEMPTS
        with contextlib.suppress(StoreError):  # what can't be counted, as on a full disk, is done all the same
            if may:
                await self._database.write(
                    "INSERT OR REPLACE INTO job_attempts (name, count) VALUES (?, ?)", (name, before + 1)
                )
        try:
            yield may
        finally:
            with contextlib.suppress(StoreError):
                # only a kill leaves the count: an error, a cancellation and an orderly end take it back
                await self._database.write("DELETE FROM job_attempts WHERE name = ?", (name,))
