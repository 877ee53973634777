"""Erasing what an owner had, a slice at a time: the first write renames the owner, later ones delete the rows.

An owner is a number everywhere but in one row. With that row renamed nobody finds anything of theirs any more, however
much there is, and a program that is killed meanwhile goes on at its next start. Each slice is a short write of its own,
so that the chats of others go on in between.

What was deleted for good may still stand in the file. That is written down with the deletion (`traces`), so that a
process that is killed before the file is scrubbed finishes that at its next start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from memory.errors import MnemeError, StoreError
from memory.store.index import touching_conversation

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    import aiosqlite

    from memory.store.database import Database
    from memory.store.file_copies import FileCopies

Forget = Callable[[], Awaitable[None]]
"""Forgets everything that a place outside of the store holds. Raises MnemeError for what stays there."""

ERASED = "erased:"
"""What stands before the number of an owner whose memory is being erased. No channel is called so."""
IS_KEPT = f"o.name NOT GLOB '{ERASED}*'"
"""What makes an owner `o` one whose memory is not being erased."""
MESSAGES = 40
"""Of one slice. Of each the words leave the search index, as do those of its neighbours."""
ROWS = 100
MESSAGES_PER_MERGE = 1_000
"""So many messages are erased before it is looked whether the search index should be merged in between."""
PARTS = 10
"""Parts of documents of one slice: each has some thousand characters."""
_SLICES = tuple(
    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE owner_id = ? LIMIT {most})"
    for table, most in (("changes", ROWS), ("media_parts", PARTS), ("media", ROWS))
)


async def make_nobodys(connection: aiosqlite.Connection, owner: str) -> None:
    """Mark everything of an owner as to be erased. For use in a transaction."""
    of_owner = "owner_id = (SELECT id FROM owners WHERE name = ?)"
    for statement in (
        # ends what is running: no talk goes on, and nothing is learned, reminded of or written into files any more
        f"UPDATE conversations SET ended_at = coalesce(ended_at, started_at), consolidation_due = 0 WHERE {of_owner}",
        f"UPDATE changes SET unwritten = 0 WHERE unwritten AND {of_owner}",
        f"DELETE FROM notices WHERE {of_owner}",
        f"DELETE FROM reminders WHERE {of_owner}",
        f"DELETE FROM speakers WHERE {of_owner}",
        f"UPDATE owners SET name = '{ERASED}' || id WHERE name = ?",
    ):
        await connection.execute(statement, (owner,))


async def erase(database: Database) -> None:
    """Delete what is marked as erased, and what came with an import that was undone."""
    await _erase_conversations(database, "id IN (SELECT conversation_id FROM imported WHERE undone)")
    await database.write("DELETE FROM imported WHERE undone")
    for row in await database.rows(f"SELECT id FROM owners o WHERE NOT {IS_KEPT}"):
        owner_id = row["id"]
        await _erase_conversations(database, "owner_id = ?", (owner_id,))
        while await _without_entries(database, owner_id):
            pass
        for statement in _SLICES:
            while await database.write(statement, (owner_id,)):
                pass
        await database.write("DELETE FROM owners WHERE id = ?", (owner_id,))


async def _erase_conversations(database: Database, condition: str, parameters: tuple[object, ...] = ()) -> None:
    erased, remaining, query = 0, None, f"SELECT id FROM conversations WHERE {condition} LIMIT 1"
    while (row := await database.row(query, parameters)) is not None:
        if remaining is None:  # counted once, and only where there is something to erase
            remaining = int(await database.value("SELECT count(*) FROM messages"))
        gone = await _shorten(database, row["id"])
        erased, remaining = erased + gone, remaining - gone
        # Merging rewrites the remaining rows a slice at a time but skips the erased ones in one step, however many they
        # are: so these are kept below half of what remains.
        if erased >= MESSAGES_PER_MERGE and erased * 2 >= remaining:
            await database.merge_indexes()
            erased = 0


async def _shorten(database: Database, conversation: int) -> int:
    """Delete the newest messages of a conversation, and it when there are no others; how many went."""
    async with database.transaction() as connection:
        # from its end, so that of the messages that stay only the last have other neighbours
        newest = await connection.execute_fetchall(
            "SELECT turn_id FROM messages WHERE conversation_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?",
            (conversation, MESSAGES - 1),
        )
        # 0, before the first of all: there are fewer than MESSAGES, and the conversation goes with them
        turn = next((int(row[0]) for row in newest), 0)
        ((gone,),) = await connection.execute_fetchall(
            "SELECT count(*) FROM messages WHERE conversation_id = ? AND turn_id >= ?", (conversation, turn)
        )
        async with touching_conversation(connection, conversation, turn):
            await connection.execute("DELETE FROM turns WHERE conversation_id = ? AND id >= ?", (conversation, turn))
            if turn == 0:
                await connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))
    return int(gone)


async def _without_entries(database: Database, owner_id: int) -> bool:
    async with database.transaction() as connection:
        rows = list(
            await connection.execute_fetchall("SELECT id FROM entries WHERE owner_id = ? LIMIT ?", (owner_id, ROWS))
        )
        ids = ", ".join(str(int(row[0])) for row in rows)
        # a foreign key: what an entry of this slice superseded may belong to a later one
        await connection.execute(f"UPDATE entries SET superseded_by = NULL WHERE superseded_by IN ({ids})")
        await connection.execute(f"DELETE FROM names WHERE entry_id IN ({ids})")
        await connection.execute(f"DELETE FROM entries WHERE id IN ({ids})")
        return bool(rows)


async def record_erasure(connection: aiosqlite.Connection) -> None:
    """Record that a transaction deletes for good, so that the file is scrubbed afterwards."""
    await connection.execute("INSERT INTO traces DEFAULT VALUES")


class PendingErasures:
    """Removes what deletions left in the database's files, and in other places that have read what was said."""

    def __init__(self, database: Database, copies: FileCopies | None = None) -> None:
        self._database = database
        self._copies = copies
        self._alone: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext
        self._elsewhere: list[Forget] = []
        self._unfinished: list[Forget] = []
        self._queue = asyncio.Lock()

    def also(self, forget: Forget) -> None:
        """Have another place forget too what it has read."""
        self._elsewhere.append(forget)

    def after(self, finish: Forget) -> None:
        """Have deletions that a kill has interrupted finished first."""
        self._unfinished.append(finish)

    def alone_by(self, alone: Callable[[], AbstractAsyncContextManager[object]]) -> None:
        """Scrub the database within this context: it keeps others from reading it meanwhile."""
        self._alone = alone

    async def remove(self) -> None:
        """Erase and scrub what is due. Raises StoreError, after all else was done, for what is left to try again."""
        for finish in self._unfinished:
            await finish()
        async with self._queue:
            # only the records up to here are deleted below: a deletion that comes meanwhile needs a scrub of its own
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
