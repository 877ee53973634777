"""What each update has done to memory: recorded in the very transaction that does it, so that it is done once.

A process that is killed between a change and the receipt of the message that asked for it works on the message anew.
"""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import aiosqlite

    from memory.store.database import Database

# a context variable, so that the causes reach the ledger through tools and commands that know nothing of them
_causes: ContextVar[tuple[str, ...]] = ContextVar("causes", default=())


async def keep_causes(connection: aiosqlite.Connection) -> None:
    """Record, in the transaction of a change, the causes that it is made for."""
    if causes := _causes.get():
        await connection.executemany(
            "INSERT OR IGNORE INTO effects (cause, at) VALUES (?, present())", [(cause,) for cause in causes]
        )


class Effects:
    """Which causes have had their effect. A cause names an update in the inbox and what it asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def had_by(self, causes: Collection[str]) -> bool:
        for cause in causes:
            if await self._database.value("SELECT 1 FROM effects WHERE cause = ?", (cause,)):
                return True
        return False

    async def record(self) -> None:
        """Record that the causes here have had their effect, where that was no write to this database."""
        if _causes.get():
            async with self._database.transaction() as connection:
                await keep_causes(connection)

    @contextlib.contextmanager
    def caused_by(self, causes: Collection[str]) -> Iterator[None]:
        """Attribute every change of memory inside to these causes."""
        token = _causes.set(tuple(causes))
        try:
            yield
        finally:
            _causes.reset(token)
