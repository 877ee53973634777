"""Whether the database of a running program is whole: looked at when it starts, before anybody relies on it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

import structlog

from memory.errors import StoreError
from memory.store.index import DERIVED, is_derived, make_anew, reindex, renew
from memory.store.inspection import LOOSE, RESTORE, damaged_tables
from memory.store.schema import INDEXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiosqlite

    from memory.store.database import Database

log = structlog.get_logger(__name__)

SMALL = 64_000_000
"""Bytes of a database that is looked at in a fraction of a second; a larger one is looked at beside the turns."""
# the share of the index after which the log tells how far it is
_TOLD_EACH = 0.1


class IntegrityCheck:
    """Examines the database, and makes anew what is damaged and derived from the rest: indexes, vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._told = 0.0

    @property
    def is_quick(self) -> bool:
        """Whether a start can wait for the examination."""
        return self._database.path.stat().st_size <= SMALL

    async def examine(self) -> None:
        """Raises StoreError where more than what is derived is damaged, or that can't be mended."""
        path = self._database.path
        damaged = await asyncio.to_thread(damaged_tables, path)
        if lost := [table for table in damaged if table != LOOSE and not is_derived(table)]:
            raise StoreError(f"{path} is damaged ({', '.join(lost)}): {RESTORE}")
        if LOOSE in damaged:
            await self._database.vacuum()
        if others := sorted({table for table in damaged if table in DERIVED} - set(INDEXES)):
            log.warning("derived_tables_damaged", tables=others, remedy="they are made anew")
            await make_anew(self._database, partial(_renew_all, others))
        if set(damaged) - {LOOSE, *others} or not await self._index_is_whole():
            log.warning("index_damaged", remedy="it is derived, and made anew")
            await reindex(self._database, self._tell)
            log.info("index_made_anew")

    def _tell(self, share: float) -> None:
        if share >= self._told + _TOLD_EACH:
            self._told = share
            log.info("index_in_the_making", done=f"{share:.0%}")

    async def _index_is_whole(self) -> bool:
        try:
            for index in INDEXES:
                await self._database.write(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        except StoreError as error:
            if "is damaged" not in str(error):
                raise
            return False
        return True


async def _renew_all(tables: Sequence[str], connection: aiosqlite.Connection, abandon: bool) -> None:
    for table in tables:
        await renew(connection, table, abandon=abandon)
