"""Whether the database of a running program is whole: looked at when it starts, before anybody relies on it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from memory.backup.inspection import RESTORE, damaged_tables
from memory.errors import StoreError
from memory.store.migrations import INDEXES

if TYPE_CHECKING:
    from memory.search.search import Search
    from memory.store.database import Database

log = structlog.get_logger(__name__)

SMALL = 64_000_000
"""Bytes of a database that is looked at in a fraction of a second; a larger one is looked at beside the turns."""
_INDEX = "search"
"""The index and the tables that FTS5 keeps it in begin with this."""


class Soundness:
    """Examines the database, and makes its index anew where only that is damaged: everything in it is derived."""

    def __init__(self, database: Database, search: Search) -> None:
        self._database = database
        self._search = search

    @property
    def is_quick(self) -> bool:
        """Whether a start can wait for the examination."""
        return self._database.path.stat().st_size <= SMALL

    async def examine(self) -> None:
        """Raises StoreError where more than the index is damaged, or the index can't be mended."""
        path = self._database.path
        damaged = await asyncio.to_thread(damaged_tables, path)
        if lost := [table for table in damaged if not table.startswith(_INDEX)]:
            raise StoreError(f"{path} is damaged ({', '.join(lost)}): {RESTORE}")
        if damaged or not await self._index_is_whole():
            log.warning("index_damaged", remedy="it is derived, and made anew")
            await self._search.reindex()

    async def _index_is_whole(self) -> bool:
        try:
            for index in INDEXES:
                await self._database.write(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        except StoreError as error:
            if "is damaged" not in str(error):
                raise
            return False
        return True
