"""`/forget all`: permanent deletion of one owner's data."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from config.texts import _
from memory.errors import MnemeError, StoreError
from memory.files.markdown import MarkdownFiles
from memory.store.database import Database
from memory.store.erasure import ROWS_PER_WRITE, Forget, PendingErasures, mark_for_erasure, record_erasure


@dataclass(frozen=True, slots=True)
class Extent:
    """The amount of an owner's data: log messages, entries, Markdown files and pending reminders."""

    messages: int
    entries: int
    files: int
    reminders: int = 0


class Forgetting:
    """Deletes all data of an owner. This can't be undone."""

    def __init__(self, database: Database, files: MarkdownFiles, erasures: PendingErasures) -> None:
        self._database = database
        self._files = files
        self._erasures = erasures
        self._elsewhere: list[Forget] = []

    def add_store(self, forget: Forget) -> None:
        """Register another store of messages that `forget_all` should clear too."""
        self._elsewhere.append(forget)

    async def measure_extent(self, owner: str) -> Extent:
        messages = await self._database.value(
            "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id"
            " JOIN owners o ON o.id = c.owner_id WHERE o.name = ?",
            (owner,),
        )
        entries = await self._database.value(
            "SELECT count(*) FROM entries e JOIN owners o ON o.id = e.owner_id WHERE o.name = ?", (owner,)
        )
        files = await asyncio.to_thread(lambda: [*self._files.get_folder(owner).glob("*.md")])
        reminders = await self._database.value(
            "SELECT count(*) FROM reminders r JOIN owners o ON o.id = r.owner_id"
            " WHERE o.name = ? AND r.state IN ('offered', 'waiting')",
            (owner,),
        )
        return Extent(int(messages), int(entries), len(files), int(reminders))

    async def forget_all(self, owner: str) -> Extent:
        """Delete all data of an owner, also from the registered stores.

        Raises StoreError at the end if something could not be deleted.
        """
        extent = await self.measure_extent(owner)
        sessions = "session_id IN (SELECT id FROM sessions WHERE owner = ?)"
        # Waiting messages are still sent, except for exports, which contain everything.
        gone = "(state <> 'waiting' OR id IN (SELECT outbox_id FROM documents))"
        sent = f"SELECT id FROM outbox WHERE {gone} AND {sessions} LIMIT {ROWS_PER_WRITE}"
        read = f"SELECT id FROM inbox WHERE state = 'done' AND payload <> '{{}}' AND {sessions} LIMIT {ROWS_PER_WRITE}"
        mail = (
            f"DELETE FROM outbox WHERE id IN ({sent})",
            f"UPDATE inbox SET payload = '{{}}' WHERE id IN ({read})",
        )
        # Delete in slices first, so that the transaction that hides everything at once stays short.
        for statement in mail:
            while await self._database.write(statement, (owner,)) == ROWS_PER_WRITE:
                pass
        async with self._database.transaction() as connection:
            for statement in (*mail, f"DELETE FROM set_aside WHERE {sessions}"):
                await connection.execute(statement, (owner,))
            await connection.execute("UPDATE sessions SET activated = NULL WHERE owner = ?", (owner,))
            await mark_for_erasure(connection, owner)
            await record_erasure(connection)
        remaining: list[str] = []
        try:
            await asyncio.to_thread(_remove_folder, self._files.get_folder(owner))
        except OSError as error:
            name = Path(error.filename or self._files.get_folder(owner)).name
            remaining.append(
                _("{file} can't be deleted ({reason}): delete it by hand.", file=name, reason=error.strerror)
            )
        for forget in (self._erasures.remove, *self._elsewhere):
            try:
                await forget()
            except MnemeError as error:
                remaining.append(str(error))
        if remaining:
            raise StoreError(
                _("All messages and memories are deleted, but some other data is not: {left}", left=" ".join(remaining))
            )
        return extent


def _remove_folder(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
