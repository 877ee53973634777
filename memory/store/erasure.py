"""Erasure of an owner's memory: the first write renames the owner, later ones delete the rows in small transactions.

All tables refer to the owner by id; only `owners` has the name. Renaming that row hides everything at once. The
deletion itself may be interrupted and continues at the next start, and other chats can write between its transactions.

Deleted text may remain in the file's pages. A row in `traces` is written with each deletion and removed after the file
is scrubbed, so that an interrupted scrub is repeated at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager

import aiosqlite

from memory.errors import MnemeError, StoreError
from memory.store.database import Database
from memory.store.file_copies import FileCopies
from memory.store.index import touching_conversation, touching_messages

Forget = Callable[[], Awaitable[None]]
"""Deletes the copies of forgotten text in one place outside of the database. Raises MnemeError if some remain."""

ERASED = "erased:"
"""Prefix of the name of an owner that is being erased. No channel has this name."""
IS_KEPT = f"o.name NOT GLOB '{ERASED}*'"
"""SQL condition: the owner `o` is not being erased."""
MESSAGES_PER_WRITE = 160
"""Deleting a message also updates the rows of its neighbours in the search index."""
ROWS_PER_WRITE = 100
CONVERSATIONS_PER_READ = 1_000
MESSAGES_PER_MERGE = 1_000
"""Minimum number of erased messages before the search index is merged."""
DOCUMENT_PARTS_PER_WRITE = 10
"""A part of a document has a few thousand characters."""
_SLICES = tuple(
    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE owner_id = ? LIMIT {most})"
    for table, most in (
        ("changes", ROWS_PER_WRITE),
        ("media_parts", DOCUMENT_PARTS_PER_WRITE),
        ("media", ROWS_PER_WRITE),
    )
)


async def mark_for_erasure(connection: aiosqlite.Connection, owner: str) -> None:
    """Mark an owner to be erased, and end their conversations, reminders and notices."""
    of_owner = "owner_id = (SELECT id FROM owners WHERE name = ?)"
    for statement in (
        f"UPDATE conversations SET ended_at = coalesce(ended_at, started_at), consolidation_due = 0 WHERE {of_owner}",
        f"UPDATE changes SET unwritten = 0 WHERE unwritten AND {of_owner}",
        f"DELETE FROM notices WHERE {of_owner}",
        f"DELETE FROM reminders WHERE {of_owner}",
        f"DELETE FROM speakers WHERE {of_owner}",
        f"DELETE FROM import_names WHERE {of_owner}",
        f"UPDATE owners SET name = '{ERASED}' || id WHERE name = ?",
    ):
        await connection.execute(statement, (owner,))


async def erase(database: Database) -> None:
    """Delete the rows of owners that are marked to be erased, and of imports that were undone."""
    while await _revert_edits(database):
        pass
    await _keep_later_messages(database)
    await _erase_conversations(database, "id IN (SELECT conversation_id FROM imported WHERE undone)")
    await database.write("DELETE FROM imported WHERE undone")
    for row in await database.rows(f"SELECT id FROM owners o WHERE NOT {IS_KEPT}"):
        owner_id = row["id"]
        await _erase_conversations(database, "owner_id = ?", (owner_id,))
        while await _delete_entries(database, owner_id):
            pass
        for statement in _SLICES:
            while await database.write(statement, (owner_id,)):
                pass
        await database.write("DELETE FROM owners WHERE id = ?", (owner_id,))


async def _revert_edits(database: Database) -> bool:
    """Delete the newest messages that an undone import added to others' conversations, and restore former texts.

    Return False if there were none.
    """
    async with database.transaction() as connection:
        edits = await connection.execute_fetchall(
            "SELECT id, message_id, former FROM import_edits WHERE undone ORDER BY id DESC LIMIT ?",
            (MESSAGES_PER_WRITE,),
        )
        added = [int(row["message_id"]) for row in edits if row["former"] is None]
        async with touching_messages(connection, {int(row["message_id"]) for row in edits}):
            for row in edits:
                if row["former"] is not None:
                    await _restore_text(connection, row["id"], row["message_id"], row["former"])
            await _delete_messages(connection, added)
        await connection.executemany("DELETE FROM import_edits WHERE id = ?", [(row["id"],) for row in edits])
        return bool(edits)


async def _restore_text(connection: aiosqlite.Connection, edit: int, message: int, former: str) -> None:
    """Restore the text of a message. If it was changed again later, the later change gets it as the former text."""
    later = list(
        await connection.execute_fetchall(
            "SELECT id FROM import_edits WHERE message_id = ? AND id > ? AND former IS NOT NULL ORDER BY id LIMIT 1",
            (message, edit),
        )
    )
    if later:
        await connection.execute("UPDATE import_edits SET former = ? WHERE id = ?", (former, later[0][0]))
        return
    await connection.execute("UPDATE messages SET content = ? WHERE id = ?", (former, message))
    await connection.execute("DELETE FROM vectors WHERE row = 2 * ? + 1", (message,))


async def _delete_messages(connection: aiosqlite.Connection, ids: Sequence[int]) -> None:
    """Delete messages, and turns and conversations that are empty then."""
    of_these = "WHERE id IN (SELECT value FROM json_each(?))"
    numbers = json.dumps([*ids])
    rows = list(
        await connection.execute_fetchall(f"SELECT turn_id, conversation_id FROM messages {of_these}", (numbers,))
    )
    turns, conversations = {int(row[0]) for row in rows}, {int(row[1]) for row in rows}
    await connection.execute(f"DELETE FROM messages {of_these}", (numbers,))
    await connection.execute(
        f"DELETE FROM turns {of_these} AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.turn_id = turns.id)",
        (json.dumps([*turns]),),
    )
    for conversation in conversations:
        await connection.execute(
            "UPDATE conversations SET (started_at, ended_at) = (SELECT coalesce(min(created_at), started_at),"
            " coalesce(max(created_at), ended_at) FROM messages WHERE conversation_id = conversations.id) WHERE id = ?",
            (conversation,),
        )
        await connection.execute(
            "DELETE FROM conversations WHERE id = ? AND NOT EXISTS"
            " (SELECT 1 FROM messages m WHERE m.conversation_id = conversations.id)",
            (conversation,),
        )


async def _keep_later_messages(database: Database) -> None:
    """Keep the messages that later imports added to the conversations of an undone one."""
    added = "SELECT message_id FROM import_edits WHERE former IS NULL"
    rows = await database.rows(
        "SELECT i.conversation_id, min(d.entry_id) AS entry FROM import_edits d JOIN messages m ON m.id = d.message_id"
        " JOIN imported i ON i.conversation_id = m.conversation_id AND i.undone WHERE d.former IS NULL GROUP BY 1"
    )
    for row in rows:
        conversation, gone = row["conversation_id"], True
        while gone:
            async with database.transaction() as connection:
                ids = [
                    int(message[0])
                    for message in await connection.execute_fetchall(
                        f"SELECT id FROM messages WHERE conversation_id = ? AND id NOT IN ({added}) LIMIT ?",
                        (conversation, MESSAGES_PER_WRITE),
                    )
                ]
                gone = bool(ids)
                async with touching_messages(connection, ids):
                    await _delete_messages(connection, ids)
        async with database.transaction() as connection:
            await connection.execute(
                "UPDATE imported SET undone = 0, entry_id = ? WHERE conversation_id = ?", (row["entry"], conversation)
            )
            await connection.execute(
                "DELETE FROM import_edits WHERE entry_id = ? AND former IS NULL AND message_id IN"
                " (SELECT id FROM messages WHERE conversation_id = ?)",
                (row["entry"], conversation),
            )


async def _erase_conversations(database: Database, condition: str, parameters: tuple[object, ...] = ()) -> None:
    erased, remaining = 0, None
    query = f"SELECT id FROM conversations WHERE {condition} LIMIT {CONVERSATIONS_PER_READ}"
    while rows := await database.rows(query, parameters):
        if remaining is None:  # Counted only if there is something to erase.
            remaining = int(await database.value("SELECT count(*) FROM messages"))
        conversations = [int(row["id"]) for row in rows]
        while conversations:
            gone = await _shorten(database, conversations)
            erased, remaining = erased + gone, remaining - gone
            # A merge rewrites the remaining rows in small writes but skips all erased ones in a single step, so there
            # must not be many times as many.
            if erased >= MESSAGES_PER_MERGE and erased >= 2 * remaining:
                await database.merge_indexes()
                erased = 0


async def _shorten(database: Database, conversations: list[int]) -> int:
    """Delete the newest messages of the last conversations of a list in one write. Return their number.

    Conversations that are empty then are deleted too, and removed from the list.
    """
    gone = begun = 0
    async with database.transaction() as connection:
        while conversations and max(gone, begun) < MESSAGES_PER_WRITE:
            count, is_whole = await _shorten_conversation(connection, conversations[-1], MESSAGES_PER_WRITE - gone)
            gone, begun = gone + count, begun + 1
            if is_whole:
                conversations.pop()
    return gone


async def _shorten_conversation(connection: aiosqlite.Connection, conversation: int, messages: int) -> tuple[int, bool]:
    """Delete the newest messages of a conversation. Return their number, and whether the conversation is deleted."""
    # From the end, so that only the last remaining messages get other neighbours in the search index.
    newest = await connection.execute_fetchall(
        "SELECT turn_id FROM messages WHERE conversation_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?",
        (conversation, messages - 1),
    )
    # 0 if all remaining messages fit into this write. The conversation is deleted with them.
    turn = next((int(row[0]) for row in newest), 0)
    ((gone,),) = await connection.execute_fetchall(
        "SELECT count(*) FROM messages WHERE conversation_id = ? AND turn_id >= ?", (conversation, turn)
    )
    async with touching_conversation(connection, conversation, turn):
        await connection.execute("DELETE FROM turns WHERE conversation_id = ? AND id >= ?", (conversation, turn))
        if turn == 0:
            await connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))
    return int(gone), turn == 0


async def _delete_entries(database: Database, owner_id: int) -> bool:
    async with database.transaction() as connection:
        rows = list(
            await connection.execute_fetchall(
                "SELECT id FROM entries WHERE owner_id = ? LIMIT ?", (owner_id, ROWS_PER_WRITE)
            )
        )
        ids = ", ".join(str(int(row[0])) for row in rows)
        # Entries of a later write may refer to those deleted here.
        await connection.execute(f"UPDATE entries SET superseded_by = NULL WHERE superseded_by IN ({ids})")
        await connection.execute(f"DELETE FROM names WHERE entry_id IN ({ids})")
        await connection.execute(f"DELETE FROM entries WHERE id IN ({ids})")
        return bool(rows)


async def record_erasure(connection: aiosqlite.Connection) -> None:
    """Record in a deleting transaction that the file must be scrubbed."""
    await connection.execute("INSERT INTO traces DEFAULT VALUES")


class PendingErasures:
    """Removes deleted text from the database's files and from other places that have copies of it."""

    def __init__(self, database: Database, copies: FileCopies | None = None) -> None:
        self._database = database
        self._copies = copies
        self._alone: Callable[[], AbstractAsyncContextManager[object]] = contextlib.nullcontext
        self._elsewhere: list[Forget] = []
        self._unfinished: list[Forget] = []
        self._queue = asyncio.Lock()

    def add_place(self, forget: Forget) -> None:
        """Register another place to delete forgotten text from."""
        self._elsewhere.append(forget)

    def add_recovery(self, finish: Forget) -> None:
        """Register a function that completes interrupted deletions before each scrub."""
        self._unfinished.append(finish)

    def set_scrub_context(self, alone: Callable[[], AbstractAsyncContextManager[object]]) -> None:
        """Set the context that keeps other processes from reading the database during a scrub."""
        self._alone = alone

    async def remove(self) -> None:
        """Erase and scrub what is pending. Raise StoreError at the end if a part failed and has to be tried again."""
        for finish in self._unfinished:
            await finish()
        async with self._queue:
            # A deletion during the scrub needs another one, so only the records up to here are removed below.
            newest = await self._database.value("SELECT max(id) FROM traces")
            await erase(self._database)  # Undone imports have no record, so this runs in any case.
            if newest is None:
                return
            if self._copies is not None:
                await self._copies.update()  # Deletes the copies of deleted files.
            remaining: list[str] = []
            for forget in (self._scrub, *self._elsewhere):
                try:
                    await forget()
                except MnemeError as error:
                    remaining.append(str(error))
            if remaining:
                raise StoreError(" ".join(remaining))
            await self._database.write("DELETE FROM traces WHERE id <= ?", (newest,))

    async def shrink(self) -> None:
        """Make the database's file smaller if much of it is free."""
        async with self._queue:
            if await self._database.has_much_free_space():
                async with self._alone():
                    await self._database.vacuum()

    async def _scrub(self) -> None:
        async with self._alone():
            await self._database.scrub()
