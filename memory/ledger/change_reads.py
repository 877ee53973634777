"""Reads within a change of the ledger. They include what the change has written so far."""

from __future__ import annotations

from collections.abc import Sequence

import aiosqlite

from memory.store.database import Row
from memory.store.entry import (
    Entry,
)
from memory.store.entry_rows import (
    CURRENT,
    ENTRY_ROWS,
    entry_from_row,
    find_entry,
    find_free_entry_name,
    get_entry,
    read_entries,
)
from memory.text.wording import make_name_key


class ChangeReads:
    """The entries of an owner as they are within a transaction."""

    def __init__(self, connection: aiosqlite.Connection, owner_id: int) -> None:
        self.owner_id = owner_id
        self._connection = connection

    async def read(self, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
        """Return the rows that `sql` selects, including the writes of this change so far."""
        return list(await self._connection.execute_fetchall(sql, parameters))

    async def get(self, name: str) -> Entry:
        return await get_entry(self.read, self.owner_id, name)

    async def find(self, name: str) -> Entry | None:
        return await find_entry(self.read, self.owner_id, name)

    async def find_free_name(self, target: str) -> str:
        return await find_free_entry_name(self._connection, self.owner_id, target)

    async def find_current(self, subject: str, but: int | None = None) -> Entry | None:
        """Return the current entry about a subject, other than the entry with id `but`."""
        return await self._find_first(f"e.subject = ? AND {CURRENT} AND e.id IS NOT ?", make_name_key(subject), but)

    async def is_current(self, entry: Entry) -> bool:
        return bool(await self.read(f"SELECT 1 FROM entries e WHERE e.id = ? AND {CURRENT}", (entry.id,)))

    async def find_by_number(self, number: int) -> Entry | None:
        return await self._find_first("e.id = ?", number)

    async def find_by_line(self, line: str) -> Entry | None:
        """Return the current entry to which a line of MEMORY.md belongs."""
        return await self._find_first(f"e.line = ? AND {CURRENT}", line)

    async def _get_by_id(self, entry_id: int) -> Entry:
        (row,) = await self.read(f"{ENTRY_ROWS} WHERE e.id = ?", (entry_id,))  # Also a deleted one.
        return entry_from_row(row)

    async def _find_first(self, where: str, *parameters: object) -> Entry | None:
        entries = await read_entries(self.read, f"e.owner_id = ? AND {where}", (self.owner_id, *parameters))
        return next(iter(entries), None)
