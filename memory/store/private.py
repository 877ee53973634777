"""Private talks: from /private to /new memory is read, and what is said is in no file.

It is held in a database of the same schema in memory, which ends with the process. So nothing that reads the file (the
search index, consolidation, an export, a backup) can find it, and nothing has to be taken out of it. The file knows
only that a session is private (`sessions.private`), and of its mail the numbers, so that an update counts once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from memory.store.entry_rows import owner_number

if TYPE_CHECKING:
    from memory.store.database import Database

FIRST_ID = 10**9
"""The numbers of what is held in memory begin here. No file gets that far: each would be a message or a reply."""
NUMBERED = ("conversations", "turns", "messages", "markers", "media", "media_parts", "outbox")
EMPTY = "{}"
"""The payload that the file has of an update that was sent in private, or that was forgotten."""


class PrivateTalks:
    """The sessions that are private, and the database in memory that holds what is said there."""

    def __init__(self, file: Database) -> None:
        self._file = file
        self._memory: Database | None = None
        self._sessions: set[str] | None = None
        self._interrupted: set[str] = set()
        self._loading = asyncio.Lock()
        self._making = asyncio.Lock()

    async def database_of(self, session_id: str) -> Database:
        """The database of a session: the file, or memory while it is private."""
        return await self.memory() if session_id in await self._known() else self._file

    def database_with(self, row_id: int) -> Database:
        """Where the row of a number stands, of those tables that are NUMBERED."""
        return self._memory if row_id >= FIRST_ID and self._memory is not None else self._file

    def databases(self) -> list[Database]:
        return [self._file] if self._memory is None else [self._file, self._memory]

    async def begin(self, session_id: str) -> None:
        """Write nothing of a session to the file from now on, until `end`."""
        sessions = await self._known()
        await self._file.write("UPDATE sessions SET private = 1 WHERE id = ?", (session_id,))
        sessions.add(session_id)
        await self._open(session_id)

    async def end(self, session_id: str) -> frozenset[int]:
        """Delete all that was said in a private talk, and store in the file what is said from now on.

        The inbox ids of what /stop held back there, which no turn is to answer any more. A reply that is still being
        sent is held until it is.
        """
        memory = await self.memory()
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
        (await self._known()).discard(session_id)
        self._interrupted.discard(session_id)
        # deleted last: since `discard` nobody is led to memory any more
        async with memory.transaction() as connection:
            for statement in (
                "DELETE FROM sessions WHERE id = :session",  # with its conversations and media
                "DELETE FROM inbox WHERE session_id = :session",
                "DELETE FROM outbox WHERE session_id = :session AND state <> 'waiting'",
            ):
                await connection.execute(statement, of_session)
        return frozenset(int(row[0]) for row in held)

    async def was_interrupted(self, session_id: str) -> bool:
        """Whether a restart has lost a private talk; true once."""
        await self._known()
        if session_id not in self._interrupted:
            return False
        self._interrupted.discard(session_id)
        return True

    async def reload(self) -> None:
        """After a session got another id: its private messages are lost, and it stays private."""
        self._sessions = None
        await self._known()

    async def memory(self) -> Database:
        async with self._making:
            if self._memory is None:
                memory = await self._file.in_memory()
                async with memory.transaction() as connection:
                    # AUTOINCREMENT continues from these, so that a number tells which database its row is in
                    await connection.executemany(
                        "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [(name, FIRST_ID) for name in NUMBERED]
                    )
                self._memory = memory
        return self._memory

    async def close(self) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _known(self) -> set[str]:
        async with self._loading:
            if self._sessions is None:
                rows = await self._file.rows("SELECT id FROM sessions WHERE private")
                private = {row["id"] for row in rows}
                # private at the first look means from before the restart, which has lost what was said there
                for session_id in private:
                    if await self._open(session_id):
                        self._interrupted.add(session_id)
                self._sessions = private
        return self._sessions

    async def _open(self, session_id: str) -> bool:
        """Begin a conversation in memory, beside the one in the file that it goes on with; False: it is there."""
        columns = "id, channel, chat_id, thread_id, owner, created_at, updated_at"
        row = await self._file.row(f"SELECT {columns} FROM sessions WHERE id = ?", (session_id,))
        if row is None:
            return False
        memory = await self.memory()
        async with memory.transaction() as connection:
            places = ", ".join("?" for _ in row)
            made = await connection.execute(f"INSERT OR IGNORE INTO sessions ({columns}) VALUES ({places})", tuple(row))
            if made.rowcount > 0:
                await connection.execute(
                    "INSERT INTO conversations (session_id, owner_id, started_at) VALUES (?, ?, ?)",
                    (session_id, await owner_number(connection, row["owner"]), row["updated_at"]),
                )
        return made.rowcount > 0
