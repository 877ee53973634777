"""/forget all: everything of one owner, for good.

It is erased a slice at a time: the first write makes it nobody's, and what is nobody's is taken away. An owner is a
number everywhere but in one row. With that row renamed nobody finds anything of theirs any more, however much there is,
and a program that is killed meanwhile goes on at its next start. Each slice is a short write of its own, so that the
chats of others go on in between.

What was deleted for good may still stand in the file. That is written down with the deletion (`traces`), so that a
process that is killed before the file is scrubbed finishes that at its next start.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from config.texts import _
from memory.errors import MnemeError, StoreError
from memory.store.index import touching_conversation

if TYPE_CHECKING:
    import aiosqlite

    from memory.files.markdown import MarkdownFiles
    from memory.store.database import Database

Forget = Callable[[], Awaitable[None]]
"""Forgets everything that a place outside of the store holds. Raises MnemeError for what stays there."""

ERASED = "erased:"
"""What stands before the number of an owner whose memory is being erased. No channel is called so."""
IS_KEPT = f"o.name NOT GLOB '{ERASED}*'"
"""What makes an owner `o` one whose memory is not being erased."""
MESSAGES = 40
"""Of one slice. Of each the words leave the search index, as do those of its neighbours."""
ROWS = 100
PARTS = 10
"""Parts of documents of one slice: each has some thousand characters."""
_CONVERSATION = "SELECT id FROM conversations"
_SLICES = tuple(
    f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE owner_id = ? LIMIT {most})"
    for table, most in (("changes", ROWS), ("media_parts", PARTS), ("media", ROWS))
)


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is of an owner: messages of the log, entries, Markdown files, reminders that are not over."""

    messages: int
    entries: int
    files: int
    reminders: int = 0


class Forgetting:
    """Deletes what an owner has. Nothing of it can be brought back."""

    def __init__(self, database: Database, files: MarkdownFiles, traces: PendingErasures) -> None:
        self._database = database
        self._files = files
        self._traces = traces
        self._elsewhere: list[Forget] = []

    def also(self, forget: Forget) -> None:
        """Have `forget_all` ask another place too that holds what was said."""
        self._elsewhere.append(forget)

    async def extent(self, owner: str) -> Extent:
        """How much `forget_all` would delete."""
        messages = await self._database.value(
            "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            " JOIN owners o ON o.id = c.owner_id WHERE o.name = ?",
            (owner,),
        )
        entries = await self._database.value(
            "SELECT count(*) FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ?", (owner,)
        )
        files = await asyncio.to_thread(lambda: [*self._files.folder(owner).glob("*.md")])
        reminders = await self._database.value(
            "SELECT count(*) FROM reminders r JOIN owners o ON o.id = r.owner_id"
            " WHERE o.name = ? AND r.state IN ('offered', 'waiting')",
            (owner,),
        )
        return Extent(int(messages), int(entries), len(files), int(reminders))

    async def forget_all(self, owner: str) -> Extent:
        """Delete an owner's log, entries, changes, mail and files, here and elsewhere.

        Raises StoreError, after all else was done, for what could not be deleted.
        """
        extent = await self.extent(owner)
        sessions = "session_id IN (SELECT id FROM sessions WHERE owner = ?)"
        # what waits is still said, but an export that waits holds everything
        gone = "(state <> 'waiting' OR id IN (SELECT outbox_id FROM documents))"
        sent = f"SELECT id FROM outbox WHERE {gone} AND {sessions} LIMIT {ROWS}"
        read = f"SELECT id FROM inbox WHERE state = 'done' AND payload <> '{{}}' AND {sessions} LIMIT {ROWS}"
        mail = (
            f"DELETE FROM outbox WHERE id IN ({sent})",
            f"UPDATE inbox SET payload = '{{}}' WHERE id IN ({read})",
        )
        for statement in mail:
            while await self._database.write(statement, (owner,)) == ROWS:
                pass
        async with self._database.transaction() as connection:
            for statement in (*mail, f"DELETE FROM set_aside WHERE {sessions}"):
                await connection.execute(statement, (owner,))
            await connection.execute("UPDATE sessions SET activated = NULL WHERE owner = ?", (owner,))
            await _make_nobodys(connection, owner)
            # the file is to be scrubbed of it
            await connection.execute("INSERT INTO traces DEFAULT VALUES")
        remaining: list[str] = []
        for forget in (self._traces.remove, *self._elsewhere):
            try:
                await forget()
            except MnemeError as error:
                remaining.append(str(error))
        try:
            await asyncio.to_thread(_remove_folder, self._files.folder(owner))
        except OSError as error:
            name = Path(error.filename or self._files.folder(owner)).name
            remaining.append(
                _("{file} can't be deleted ({reason}): delete it by hand.", file=name, reason=error.strerror)
            )
        if remaining:
            raise StoreError(
                _("The log and all entries are forgotten, but not all else: {left}", left=" ".join(remaining))
            )
        return extent


class PendingErasures:
    """Removes what deletions have left, in the database's files and in other places that read what was said."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._elsewhere: list[Forget] = []
        self._queue = asyncio.Lock()

    def also(self, forget: Forget) -> None:
        """Have another place forget too what it has read."""
        self._elsewhere.append(forget)

    async def remove(self) -> None:
        """Remove them, where there are any. Raises StoreError, after all else was done, for what stays; it is due."""
        async with self._queue:
            newest = await self._database.value("SELECT max(id) FROM traces")
            await _erase(
                self._database
            )  # also what came with an import that was undone, which leaves no trace to scrub
            if newest is None:
                return
            remaining: list[str] = []
            for forget in (self._database.scrub, *self._elsewhere):
                try:
                    await forget()
                except MnemeError as error:
                    remaining.append(str(error))
            if remaining:
                raise StoreError(" ".join(remaining))
            await self._database.write("DELETE FROM traces WHERE id <= ?", (newest,))


async def _make_nobodys(connection: aiosqlite.Connection, owner: str) -> None:
    """Have everything of an owner be nobody's, to be erased. For use in a transaction."""
    of_owner = "owner_id = (SELECT id FROM owners WHERE name = ?)"
    for statement in (
        # nothing goes on in it, is told, learned or written into files any more
        f"UPDATE conversations SET ended_at = coalesce(ended_at, started_at), consolidation_due = 0 WHERE {of_owner}",
        f"UPDATE changes SET unwritten = 0 WHERE unwritten AND {of_owner}",
        f"DELETE FROM notices WHERE {of_owner}",
        f"DELETE FROM reminders WHERE {of_owner}",
        f"DELETE FROM speakers WHERE {of_owner}",
        f"UPDATE owners SET name = '{ERASED}' || id WHERE name = ?",
    ):
        await connection.execute(statement, (owner,))


async def _erase(database: Database) -> None:
    """Take away what is nobody's, and what came with an import that was undone."""
    undone = f"{_CONVERSATION} WHERE id IN (SELECT conversation_id FROM imported WHERE undone) LIMIT 1"
    while (row := await database.row(undone)) is not None:
        await _shorten(database, row["id"])
    await database.write("DELETE FROM imported WHERE undone")
    for row in await database.rows(f"SELECT id FROM owners o WHERE NOT {IS_KEPT}"):
        owner_id = row["id"]
        while (row := await database.row(f"{_CONVERSATION} WHERE owner_id = ? LIMIT 1", (owner_id,))) is not None:
            await _shorten(database, row["id"])
        while await _without_entries(database, owner_id):
            pass
        for statement in _SLICES:
            while await database.write(statement, (owner_id,)):
                pass
        await database.write("DELETE FROM owners WHERE id = ?", (owner_id,))


async def _shorten(database: Database, conversation: int) -> None:
    """Delete the newest messages of a conversation, and it when there are no others."""
    async with database.transaction() as connection:
        # from its end, so that of the messages that stay only the last have other neighbours
        newest = await connection.execute_fetchall(
            "SELECT turn_id FROM messages WHERE conversation_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?",
            (conversation, MESSAGES - 1),
        )
        turn = next((int(row[0]) for row in newest), 0)
        async with touching_conversation(connection, conversation, turn):
            await connection.execute("DELETE FROM turns WHERE conversation_id = ? AND id >= ?", (conversation, turn))
            if turn == 0:
                await connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))


async def _without_entries(database: Database, owner_id: int) -> bool:
    async with database.transaction() as connection:
        rows = list(
            await connection.execute_fetchall("SELECT id FROM entries WHERE owner_id = ? LIMIT ?", (owner_id, ROWS))
        )
        ids = ", ".join(str(int(row[0])) for row in rows)
        await connection.execute(f"UPDATE entries SET superseded_by = NULL WHERE superseded_by IN ({ids})")
        await connection.execute(f"DELETE FROM names WHERE entry_id IN ({ids})")
        await connection.execute(f"DELETE FROM entries WHERE id IN ({ids})")
        return bool(rows)


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
