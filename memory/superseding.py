"""A memory takes the place of an earlier one, which stays searchable and is never injected again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memory.changes import Snapshot, snapshot
from memory.clock import from_text
from memory.entry_rows import bind_name, free_name_for, insert_entry
from memory.index import touching_entries

if TYPE_CHECKING:
    from datetime import datetime
    from zoneinfo import ZoneInfo

    import aiosqlite

    from memory.entry import Entry, NewEntry


async def supersede(
    connection: aiosqlite.Connection, owner_id: int, former: Entry, new: NewEntry, now: str, zone: ZoneInfo
) -> list[Snapshot]:
    """Write `new` in the place of `former`, under its name and subject; what both were before, for /undo."""
    before = [await snapshot(connection, former.id)]
    await _give_way(connection, owner_id, former, from_text(now).astimezone(zone))
    name = await free_name_for(connection, owner_id, former.name)
    new = replace(new, subject=new.subject or former.subject, scope=new.scope or former.scope)
    entry_id = await insert_entry(connection, owner_id, name, new.content, new, now)
    await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (entry_id, former.id))
    return [*before, Snapshot(entry_id, None)]


async def _give_way(connection: aiosqlite.Connection, owner_id: int, former: Entry, moment: datetime) -> None:
    """Free the name of what is about to be superseded: the newer one goes by it."""
    async with touching_entries(connection, [former.id]):
        await connection.execute("DELETE FROM names WHERE entry_id = ?", (former.id,))
        dated = f"{former.name} until {moment:%Y-%m-%d}"
        await bind_name(connection, owner_id, former.id, await free_name_for(connection, owner_id, dated))
