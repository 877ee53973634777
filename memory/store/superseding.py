"""A memory takes the place of an earlier one, which stays searchable and is never injected again."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.clock import from_text
from memory.store.changes import Snapshot, snapshot
from memory.store.entry import Priority
from memory.store.entry_rows import bind_name, free_name_for, insert_entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime
    from zoneinfo import ZoneInfo

    import aiosqlite

    from memory.store.entry import Entry, NewEntry


async def supersede(
    connection: aiosqlite.Connection, owner_id: int, former: Entry, new: NewEntry, now: str, zone: ZoneInfo
) -> list[Snapshot]:
    """Write `new` in the place of `former`, under its names and subject; what both were before, for /undo."""
    before = await snapshot(connection, former.id)
    inherited = Priority(former.priority) if new.kind == former.kind else None
    new = replace(
        new,
        subject=new.subject or former.subject,
        scope=new.scope or former.scope,
        priority=new.priority or inherited,
    )
    async with _giving_way(connection, owner_id, former, from_text(now).astimezone(zone)):
        entry_id = await insert_entry(connection, owner_id, former.name, new.content, new, now)
        for alias in former.aliases:
            await bind_name(connection, owner_id, entry_id, alias, is_alias=True)
    await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (entry_id, former.id))
    return [before, Snapshot(entry_id, None)]


async def supersede_by_known(
    connection: aiosqlite.Connection, owner_id: int, former: Entry, known: Entry, moment: datetime
) -> list[Snapshot]:
    """Have a memory that there is already take the place of `former`; what both were before, for /undo."""
    before = [await snapshot(connection, former.id), await snapshot(connection, known.id)]
    async with _giving_way(connection, owner_id, former, moment):
        for name in (former.name, *former.aliases):
            await bind_name(connection, owner_id, known.id, name, is_alias=True)
    await connection.execute("UPDATE entries SET superseded_by = ? WHERE id = ?", (known.id, former.id))
    await connection.execute(
        "UPDATE entries SET subject = coalesce(subject, ?) WHERE id = ?", (former.subject, known.id)
    )
    return before


@contextlib.asynccontextmanager
async def _giving_way(
    connection: aiosqlite.Connection, owner_id: int, former: Entry, moment: datetime
) -> AsyncIterator[None]:
    """While the newer one takes the names of what is superseded; that goes by a dated one then."""
    await connection.execute("DELETE FROM names WHERE entry_id = ?", (former.id,))
    yield
    dated = f"{former.name} until {moment:%Y-%m-%d}"
    await bind_name(connection, owner_id, former.id, await free_name_for(connection, owner_id, dated))
