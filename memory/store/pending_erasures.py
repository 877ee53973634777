"""What was deleted for good and may still stand in the file: written down with the deletion, so that it is finished.

A process that is killed between a deletion and the scrubbing of the file finds the row at its next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from memory.errors import MnemeError, StoreError
from memory.store.erasure import erase

if TYPE_CHECKING:
    import aiosqlite

    from memory.store.database import Database

Forget = Callable[[], Awaitable[None]]
"""Forgets everything that a place outside of the store holds. Raises MnemeError for what stays there."""


async def record_erasure(connection: aiosqlite.Connection) -> None:
    """Have the file scrubbed of what a transaction deletes."""
    await connection.execute("INSERT INTO traces DEFAULT VALUES")


class PendingErasures:
    """Removes what deletions have left, in the database's files and in other places that read what was said."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._elsewhere: list[Forget] = []
        self._queue = asyncio.Lock()

    def also(self, forget: Forget) -> None:
        """Have another place forget too what it has read."""
        self._elsewhere.append(forget)

    async def remove(self) -> None:
        """Remove them, where there are any. Raises StoreError, after all else was done, for what stays; it is due."""
        async with self._queue:
            newest = await self._database.value("SELECT max(id) FROM traces")
            await erase(self._database)  # also what came with an import that was undone, which leaves no trace to scrub
            if newest is None:
                return
            remaining: list[str] = []
            for forget in (self._database.scrub, *self._elsewhere):
                try:
                    await forget()
                except MnemeError as error:
                    remaining.append(str(error))
            if remaining:
                raise StoreError(" ".join(remaining))
            await self._database.write("DELETE FROM traces WHERE id <= ?", (newest,))
