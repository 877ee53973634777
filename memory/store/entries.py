"""The five operations on entries: Add, Rename, Alias, Write, Remove (S1); each can be undone."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text, to_text
from memory.errors import MemoryRefused
from memory.messages import storable
from memory.store.changes import UNDO_PERIOD, Snapshot, snapshot
from memory.store.entry import Author, Entry, Kind, NewEntry, Operation
from memory.store.entry_rows import (
    ENTRY_ROWS,
    bind_name,
    entry_of,
    find,
    generated_name,
    insert_entry,
    owner_number,
    refuse_secret,
    require_free,
    usable_content,
    usable_name,
)
from memory.store.index import touching_entries
from memory.text.naming import name_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiosqlite

    from memory.store.changes import ChangeLog
    from memory.store.database import Database

    Also = Callable[[aiosqlite.Connection, Entry], Awaitable[None]]


class EntryStore:
    """The entries of all owners. Each operation is one transaction that keeps what was before for /undo."""

    def __init__(self, database: Database, changes: ChangeLog, clock: Clock) -> None:
        self._database = database
        self._changes = changes
        self._clock = clock

    async def add(self, owner: str, new: NewEntry, also: Also | None = None) -> Entry:
        """Create an entry. Raises MemoryRefused for a name that is taken, and for what may not be stored.

        also: what is written with it, in the same transaction.
        """
        content = usable_content(new.content)
        name = usable_name(new.name) if new.name is not None else None
        tags, scope = storable(json.dumps(new.tags, ensure_ascii=False)), storable(new.scope or "") or None
        outcome = storable(new.outcome or "").strip() or None
        refuse_secret(f"{tags} {scope}\n{outcome}")
        now = now_text(self._clock)
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            name = name or await generated_name(connection, owner_id, new.stem, new.topic or content)
            new = replace(new, tags=tuple(json.loads(tags)), scope=scope, outcome=outcome)
            entry_id = await insert_entry(connection, owner_id, name, content, new, now)
            await self._changes.record(connection, owner_id, Operation.ADD, new.author, [Snapshot(entry_id, None)])
            entry = await find(connection, owner_id, name)
            if also is not None:
                await also(connection, entry)
            return entry

    async def rename(self, owner: str, name: str, new_name: str, author: Author = Author.USER) -> Entry:
        """Change an entry's name; the old one stays as an alias."""
        wanted = usable_name(new_name)
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            entry = await _writable(connection, owner_id, name, author)
            await require_free(connection, owner_id, wanted, but=entry.id)
            async with self._changing(connection, owner_id, entry, Operation.RENAME, author):
                await connection.execute("UPDATE names SET is_alias = 1 WHERE entry_id = ?", (entry.id,))
                await connection.execute(
                    "DELETE FROM names WHERE owner_id = ? AND key = ?", (owner_id, name_key(wanted))
                )
                await bind_name(connection, owner_id, entry.id, wanted)
            return await find(connection, owner_id, wanted)

    async def alias(self, owner: str, name: str, alias: str, author: Author = Author.USER) -> Entry:
        """Bind one more name to an entry."""
        wanted = usable_name(alias)
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            entry = await _writable(connection, owner_id, name, author)
            async with self._changing(connection, owner_id, entry, Operation.ALIAS, author):
                await bind_name(connection, owner_id, entry.id, wanted, is_alias=True)
            return await find(connection, owner_id, wanted)

    async def write(self, owner: str, name: str, content: str, author: Author = Author.USER) -> Entry:
        """Replace an entry's content."""
        text = usable_content(content)
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            entry = await _writable(connection, owner_id, name, author)
            async with self._changing(connection, owner_id, entry, Operation.WRITE, author):
                await connection.execute("UPDATE entries SET content = ? WHERE id = ?", (text, entry.id))
            return await find(connection, owner_id, name)

    async def remove(self, owner: str, name: str, author: Author = Author.USER) -> Entry:
        """Delete an entry with all its names; it comes back with `undo` for 30 days."""
        async with self._database.transaction() as connection:
            owner_id = await owner_number(connection, owner)
            entry = await _writable(connection, owner_id, name, author)
            async with self._changing(connection, owner_id, entry, Operation.REMOVE, author):
                await connection.execute("DELETE FROM names WHERE entry_id = ?", (entry.id,))
                await connection.execute(
                    "UPDATE entries SET deleted_at = ? WHERE id = ?", (now_text(self._clock), entry.id)
                )
            return entry

    async def get(self, owner: str, name: str) -> Entry:
        """The entry with that name or alias. Raises MemoryRefused with the nearest names."""
        async with self._database.transaction() as connection:
            return await find(connection, await owner_number(connection, owner), name)

    async def get_any(self, name: str, first: str) -> Entry:
        """The entry with that name or alias of whichever owner has it, of `first` where several have.

        Raises MemoryRefused when nobody has, or when several others have.
        """
        rows = await self._database.rows(
            f"{ENTRY_ROWS} JOIN names k ON k.entry_id = e.id WHERE k.key = ?", (name_key(name),)
        )
        found = {row["owner"]: entry_of(row) for row in rows}
        if first in found or not found:
            return await self.get(first, name)
        if len(found) > 1:
            raise MemoryRefused(f"Several owners have {name!r}: name one of {', '.join(sorted(found))}.")
        return next(iter(found.values()))

    async def list(
        self, owner: str | None = None, kind: str | None = None, *, limit: int = 1_000_000, offset: int = 0
    ) -> list[Entry]:
        """Entries, newest first; of one owner or all, of one kind or all."""
        rows = await self._database.rows(
            f"{ENTRY_ROWS} WHERE e.deleted_at IS NULL AND (? IS NULL OR o.name = ?) AND (? IS NULL OR e.kind = ?)"
            " ORDER BY e.id DESC LIMIT ? OFFSET ?",
            (owner, owner, kind, kind, limit, offset),
        )
        return [entry_of(row) for row in rows]

    async def counts(self, owner: str) -> dict[str, int]:
        """How many entries of each kind an owner has."""
        rows = await self._database.rows(
            "SELECT e.kind, count(*) FROM entries e JOIN owners o ON o.id = e.owner_id"
            " WHERE o.name = ? AND e.deleted_at IS NULL GROUP BY e.kind ORDER BY e.kind",
            (owner,),
        )
        return {row[0]: row[1] for row in rows}

    async def purge(self) -> int:
        """Delete for good what was removed or changed more than 30 days ago; how many entries went.

        Of MEMORY.md the newest versions stay, however old they are.
        """
        before = to_text(self._clock() - UNDO_PERIOD)
        async with self._database.transaction() as connection:
            await self._changes.purge(connection, before)
            await connection.execute(
                "UPDATE entries SET superseded_by = NULL WHERE superseded_by IN"
                " (SELECT id FROM entries WHERE deleted_at < ?)",
                (before,),
            )
            cursor = await connection.execute("DELETE FROM entries WHERE deleted_at < ?", (before,))
        return cursor.rowcount

    @contextlib.asynccontextmanager
    async def _changing(
        self, connection: aiosqlite.Connection, owner_id: int, entry: Entry, operation: Operation, author: Author
    ) -> AsyncIterator[None]:
        """Around a change of one entry: what it was is kept, and the index stays in step."""
        before = await snapshot(connection, entry.id)
        async with touching_entries(connection, [entry.id]):
            yield
        await self._changes.record(connection, owner_id, operation, author, [before])


async def _writable(connection: aiosqlite.Connection, owner_id: int, name: str, author: Author) -> Entry:
    entry = await find(connection, owner_id, name)
    if entry.kind == Kind.ARCHIVE and author is Author.MODEL:
        raise MemoryRefused(f"{entry.name} is an archive, which is never rewritten: add a note instead.")
    return entry
