"""What was deleted for good and may still stand in the file: written down with the deletion, so that it is finished.

A process that is killed between a deletion and the scrubbing of the file finds the row at its next start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from memory.errors import MnemeError, StoreError
from memory.store.erasure import erase

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    import aiosqlite

    from memory.store.database import Database
    from memory.store.file_copies import FileCopies

Forget = Callable[[], Awaitable[None]]
"""Forgets everything that a place outside of the store holds. Raises MnemeError for what stays there."""


async def record_erasure(connection: aiosqlite.Connection) -> None:
    """Have the file scrubbed of what a transaction deletes."""
    await connection.execute("INSERT INTO traces DEFAULT VALUES")


class PendingErasures:
    """Removes what deletions have left, in the database's files and in other places that read what was said."""

    def __init__(self, database: Database, copies: FileCopies | None = None) -> None:
        self._database = database
        self._copies = copies
        self._alone: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext
        self._elsewhere: list[Forget] = []
        self._queue = asyncio.Lock()

    def also(self, forget: Forget) -> None:
        """Have another place forget too what it has read."""
        self._elsewhere.append(forget)

    def alone_by(self, alone: Callable[[], AbstractAsyncContextManager[object]]) -> None:
        """Scrub the database within this context: it keeps others from reading it meanwhile."""
        self._alone = alone

    async def remove(self) -> None:
        """Remove them, where there are any. Raises StoreError, after all else was done, for what stays; it is due."""
        async with self._queue:
            newest = await self._database.value("SELECT max(id) FROM traces")
            await erase(self._database)  # also what came with an import that was undone, which leaves no trace to scrub
            if newest is None:
                return
            if self._copies is not None:  # those of files that are gone
                await self._copies.look()
            remaining: list[str] = []
            for forget in (self._scrub, *self._elsewhere):
                try:
                    await forget()
                except MnemeError as error:
                    remaining.append(str(error))
            if remaining:
                raise StoreError(" ".join(remaining))
            await self._database.write("DELETE FROM traces WHERE id <= ?", (newest,))

    async def _scrub(self) -> None:
        async with self._alone():
            await self._database.scrub()
