"""Private talks: from /private to /new, messages are stored only in memory.

They are in a database with the same schema, which is lost when the process ends. So search, consolidation, exports and
backups, which read the file, never see them. The file only stores that a session is private (`sessions.private`) and
the ids of its updates, so that no update is handled twice.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from memory.store.entry_rows import get_or_create_owner_id

if TYPE_CHECKING:
    from memory.store.database import Database

FIRST_ID = 10**9
"""First id of rows in memory. It is larger than any id in the file, so an id tells the database."""
NUMBERED = ("conversations", "turns", "messages", "markers", "media", "media_parts", "outbox")
EMPTY = "{}"
"""Payload in the file of an update that was private or forgotten."""


class PrivateTalks:
    def __init__(self, file: Database) -> None:
        self._file = file
        self._memory: Database | None = None
        self._sessions: set[str] | None = None
        self._interrupted: set[str] = set()
        self._loading = asyncio.Lock()
        self._making = asyncio.Lock()

    async def get_database(self, session_id: str) -> Database:
        """Return the database for a session: the one in memory while it is private, else the file."""
        return await self.get_memory_database() if session_id in await self._read_known() else self._file

    def get_database_with_row(self, row_id: int) -> Database:
        """Return the database that has a row of one of the NUMBERED tables."""
        return self._memory if row_id >= FIRST_ID and self._memory is not None else self._file

    def list_databases(self) -> list[Database]:
        return [self._file] if self._memory is None else [self._file, self._memory]

    async def begin(self, session_id: str) -> None:
        """Store the messages of a session only in memory from now on, until `end`."""
        sessions = await self._read_known()
        await self._file.write("UPDATE sessions SET private = 1 WHERE id = ?", (session_id,))
        sessions.add(session_id)
        await self._open(session_id)

    async def end(self, session_id: str) -> frozenset[int]:
        """Delete the messages of a private talk and store later ones in the file again.

        A reply that is still being sent stays until then. Return the inbox ids of messages that /stop held back, which
        must not be answered any more.
        """
        memory = await self.get_memory_database()
        of_session: dict[str, object] = {"session": session_id, "empty": EMPTY}
        async with self._file.transaction() as connection:
            held = await connection.execute_fetchall(
                "SELECT id FROM inbox WHERE session_id = :session AND payload = :empty AND state = 'held'", of_session
            )
            for statement in (
                "UPDATE sessions SET private = 0 WHERE id = :session",
                "UPDATE inbox SET state = 'done' WHERE session_id = :session AND payload = :empty",
            ):
                await connection.execute(statement, of_session)
        (await self._read_known()).discard(session_id)
        self._interrupted.discard(session_id)
        # Last, since after `discard` no caller gets the database in memory.
        async with memory.transaction() as connection:
            for statement in (
                "DELETE FROM sessions WHERE id = :session",  # Cascades to its conversations and media.
                "DELETE FROM inbox WHERE session_id = :session",
                "DELETE FROM outbox WHERE session_id = :session AND state <> 'waiting'",
            ):
                await connection.execute(statement, of_session)
        return frozenset(int(row[0]) for row in held)

    async def was_interrupted(self, session_id: str) -> bool:
        """Return True, once, if a restart has lost a private talk of the session."""
        await self._read_known()
        if session_id not in self._interrupted:
            return False
        self._interrupted.discard(session_id)
        return True

    async def reload(self) -> None:
        """Read the private sessions again after one got another id. Its messages are lost, and it stays private."""
        self._sessions = None
        await self._read_known()

    async def get_memory_database(self) -> Database:
        async with self._making:
            if self._memory is None:
                memory = await self._file.in_memory()
                async with memory.transaction() as connection:
                    # AUTOINCREMENT continues from these.
                    await connection.executemany(
                        "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [(name, FIRST_ID) for name in NUMBERED]
                    )
                self._memory = memory
        return self._memory

    async def close(self) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _read_known(self) -> set[str]:
        async with self._loading:
            if self._sessions is None:
                rows = await self._file.rows("SELECT id FROM sessions WHERE private")
                private = {row["id"] for row in rows}
                # These were private before the restart, which has lost their messages.
                for session_id in private:
                    if await self._open(session_id):
                        self._interrupted.add(session_id)
                self._sessions = private
        return self._sessions

    async def _open(self, session_id: str) -> bool:
        """Create the session and a conversation in memory. Return False if it exists there."""
        columns = "id, channel, chat_id, thread_id, owner, created_at, updated_at"
        row = await self._file.row(f"SELECT {columns} FROM sessions WHERE id = ?", (session_id,))
        if row is None:
            return False
        memory = await self.get_memory_database()
        async with memory.transaction() as connection:
            places = ", ".join("?" for _ in row)
            made = await connection.execute(f"INSERT OR IGNORE INTO sessions ({columns}) VALUES ({places})", tuple(row))
            if made.rowcount > 0:
                await connection.execute(
                    "INSERT INTO conversations (session_id, owner_id, started_at) VALUES (?, ?, ?)",
                    (session_id, await get_or_create_owner_id(connection, row["owner"]), row["updated_at"]),
                )
        return made.rowcount > 0
