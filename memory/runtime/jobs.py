"""Last runs of the scheduler's jobs, and crash counts of jobs at startup."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import datetime

from memory.clock import from_text, to_text
from memory.errors import StoreError
from memory.store.database import Database

MAX_ATTEMPTS = 2
"""A job is skipped after the program was killed this often while it ran."""


class JobLog:
    """The last run of each job, and how often the program was killed during it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_last_run(self, name: str) -> datetime | None:
        value = await self._database.value("SELECT ran_at FROM jobs WHERE name = ?", (name,))
        return from_text(value) if value else None

    async def mark(self, name: str, now: datetime) -> None:
        await self._database.write("INSERT OR REPLACE INTO jobs (name, ran_at) VALUES (?, ?)", (name, to_text(now)))

    @contextlib.asynccontextmanager
    async def attempt(self, name: str) -> AsyncIterator[bool]:
        """Count an attempt of a job. Yield False if it has to be skipped, since it killed the program too often."""
        before = int(await self._database.value("SELECT count FROM job_attempts WHERE name = ?", (name,)) or 0)
        is_allowed = before < MAX_ATTEMPTS
        with contextlib.suppress(StoreError):  # On a full disk the job runs uncounted.
            if is_allowed:
                await self._database.write(
                    "INSERT OR REPLACE INTO job_attempts (name, count) VALUES (?, ?)", (name, before + 1)
                )
        try:
            yield is_allowed
        finally:
            with contextlib.suppress(StoreError):
                # Only a kill keeps the count. Errors, cancellations and orderly shutdowns remove it.
                await self._database.write("DELETE FROM job_attempts WHERE name = ?", (name,))
