"""What memory was before every change of it, so that the change can be taken back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock, now_text
from memory.store.entry import Operation
from memory.store.entry_rows import bind_name, owner_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiosqlite

    from memory.store.entry import Author

UNDO_PERIOD = timedelta(days=30)
"""How long a change can be undone."""
VERSIONS = 50
"""Versions of each MEMORY.md that are kept (S2)."""
FILE_CHANGE = "edit"
"""The operation of a change of MEMORY.md."""
# the newest row has the greatest batch; max(batch) would read them all
_LAST_BATCH = "(SELECT batch FROM changes ORDER BY id DESC LIMIT 1)"
_NEXT_BATCH = f"coalesce({_LAST_BATCH}, 0) + 1"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An entry's row and names as JSON; `state` None: there was no such entry."""

    entry_id: int
    state: str | None


@dataclass(frozen=True, slots=True)
class FileChange:
    """MEMORY.md before and after a change."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """One operation, with what it touched as that was before."""

    batch: int
    operation: str
    author: str
    entries: tuple[Snapshot, ...]
    file: FileChange | None


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo took back: the operation, who had made it, and the names of the entries that it touched."""

    operation: str
    author: str
    names: tuple[str, ...]


async def snapshot(connection: aiosqlite.Connection, entry_id: int) -> Snapshot:
    """An entry as it stands now."""
    rows = list(await connection.execute_fetchall("SELECT * FROM entries WHERE id = ?", (entry_id,)))
    names = await connection.execute_fetchall(
        "SELECT name, is_alias FROM names WHERE entry_id = ? ORDER BY is_alias, key", (entry_id,)
    )
    if not rows:
        return Snapshot(entry_id, None)
    state = {"row": dict(rows[0]), "names": [[row["name"], row["is_alias"]] for row in names]}
    return Snapshot(entry_id, json.dumps(state, ensure_ascii=False))


class ChangeLog:
    """The changes of all owners' memory, newest last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def record(
        self,
        connection: aiosqlite.Connection,
        owner_id: int,
        operation: Operation,
        author: Author,
        before: Sequence[Snapshot],
    ) -> None:
        """Record one change, of one entry or of several at once, by what they were before it."""
        now = now_text(self._clock)
        insert = "INSERT INTO changes (owner_id, entry_id, operation, author, before, at, batch) VALUES (?,?,?,?,?,?, "
        rows = [(owner_id, was.entry_id, operation, author, was.state, now) for was in before]
        await connection.execute(f"{insert}{_NEXT_BATCH})", rows[0])
        if rows[1:]:  # most changes are of one entry: each call costs a write a thread's round trip
            await connection.executemany(f"{insert}{_LAST_BATCH})", rows[1:])

    async def record_file(
        self, connection: aiosqlite.Connection, owner: str, author: Author, before: str, after: str
    ) -> int:
        """Record a change of MEMORY.md; the number of the record."""
        owner_id = await owner_number(connection, owner)
        cursor = await connection.execute(
            "INSERT INTO changes (batch, owner_id, entry_id, operation, author, before, after, at)"
            f" VALUES ({_NEXT_BATCH}, ?, 0, ?, ?, ?, ?, ?)",
            (owner_id, FILE_CHANGE, author, before, after, now_text(self._clock)),
        )
        return int(cursor.lastrowid or 0)

    async def withdraw(self, connection: aiosqlite.Connection, record: int) -> None:
        """Drop the record of a change that did not come about."""
        await connection.execute("DELETE FROM changes WHERE id = ?", (record,))

    async def purge(self, connection: aiosqlite.Connection, before: str) -> None:
        """Forget changes of entries made before a moment, and all but the newest versions of each MEMORY.md."""
        # what the weekly tidying is not to do again stays known
        await connection.execute(
            "DELETE FROM changes WHERE at < ? AND entry_id <> 0 AND NOT (operation = ? AND undone_at IS NOT NULL)",
            (before, Operation.CONSOLIDATE),
        )
        await connection.execute(
            "DELETE FROM changes WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER"
            " (PARTITION BY owner_id ORDER BY id DESC) AS age FROM changes WHERE entry_id = 0) WHERE age > ?)",
            (VERSIONS,),
        )

    async def newest(self, connection: aiosqlite.Connection, owner_id: int) -> Change | None:
        """The newest change that still stands."""
        rows = list(
            await connection.execute_fetchall(
                "SELECT * FROM changes WHERE undone_at IS NULL AND owner_id = ? AND batch ="
                " (SELECT max(batch) FROM changes WHERE undone_at IS NULL AND owner_id = ?) ORDER BY id DESC",
                (owner_id, owner_id),
            )
        )
        if not rows:
            return None
        first = rows[0]
        is_file = first["operation"] == FILE_CHANGE
        return Change(
            batch=first["batch"],
            operation=first["operation"],
            author=first["author"],
            entries=() if is_file else tuple(Snapshot(row["entry_id"], row["before"]) for row in rows),
            file=FileChange(first["before"], first["after"]) if is_file else None,
        )

    async def give_up(self, connection: aiosqlite.Connection, change: Change) -> None:
        """Mark a change that can't be taken back, so that the one before it can."""
        await self._settle(connection, change)

    async def take_back(self, connection: aiosqlite.Connection, owner_id: int, change: Change) -> Undone:
        """Make entries what they were before a change, and mark it undone. Raises MemoryRefused."""
        names: list[str] = []
        # the newest goes first, and the one that it superseded points at it until its own turn comes
        await connection.execute("PRAGMA defer_foreign_keys = ON")
        for was in change.entries:
            names += await _restore(connection, owner_id, was)
        await self._settle(connection, change)
        return Undone(change.operation, change.author, tuple(dict.fromkeys(names)) or ("MEMORY.md",))

    async def _settle(self, connection: aiosqlite.Connection, change: Change) -> None:
        await connection.execute(
            "UPDATE changes SET undone_at = ? WHERE batch = ?", (now_text(self._clock), change.batch)
        )


async def _restore(connection: aiosqlite.Connection, owner_id: int, was: Snapshot) -> list[str]:
    """Make an entry what it was; the name that it goes by."""
    held = await connection.execute_fetchall(
        "SELECT name FROM names WHERE entry_id = ? AND NOT is_alias", (was.entry_id,)
    )
    await connection.execute("DELETE FROM names WHERE entry_id = ?", (was.entry_id,))
    if was.state is None:
        # an archive goes with its marker: the conversation is again what it was before the compaction
        await connection.execute("DELETE FROM markers WHERE archive_id = ?", (was.entry_id,))
        await connection.execute("DELETE FROM entries WHERE id = ?", (was.entry_id,))
        return [row[0] for row in held]
    state = json.loads(was.state)
    columns = [column for column in state["row"] if column != "id"]
    assignments = ", ".join(f"{column} = ?" for column in columns)
    await connection.execute(
        f"UPDATE entries SET {assignments} WHERE id = ?",
        (*(state["row"][column] for column in columns), was.entry_id),
    )
    # a successor that was purged since can't be pointed to
    await connection.execute(
        "UPDATE entries SET superseded_by = id WHERE id = ? AND superseded_by NOT IN (SELECT id FROM entries)",
        (was.entry_id,),
    )
    for name, is_alias in state["names"]:
        await bind_name(connection, owner_id, was.entry_id, name, is_alias=bool(is_alias))
    return [name for name, is_alias in state["names"] if not is_alias]
