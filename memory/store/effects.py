"""Records of the changes that updates have caused, so that an update that is handled again changes nothing twice.

A record is written in the transaction of its change. A process that is killed after that and before it marks the update
as done handles the update again at the next start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from contextvars import ContextVar

import aiosqlite

from memory.store.database import Database

# A context variable passes the causes to the ledger through tools and commands that need not know them.
_causes: ContextVar[tuple[str, ...]] = ContextVar("causes", default=())


async def record_causes(connection: aiosqlite.Connection) -> None:
    if causes := _causes.get():
        await connection.executemany(
            "INSERT OR IGNORE INTO effects (cause, at) VALUES (?, present())", [(cause,) for cause in causes]
        )


class Effects:
    """The recorded causes. A cause names an update in the inbox and the requested operation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def has_effect(self, causes: Collection[str]) -> bool:
        for cause in causes:
            if await self._database.value("SELECT 1 FROM effects WHERE cause = ?", (cause,)):
                return True
        return False

    async def record(self) -> None:
        """Record the current causes for an effect outside of this database."""
        if _causes.get():
            async with self._database.transaction() as connection:
                await record_causes(connection)

    @contextlib.contextmanager
    def caused_by(self, causes: Collection[str]) -> Iterator[None]:
        """Attribute every change of memory in the block to these causes."""
        token = _causes.set(tuple(causes))
        try:
            yield
        finally:
            _causes.reset(token)
