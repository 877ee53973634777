"""Migration of a chat to a new id in one transaction, after its channel has changed the id."""

from __future__ import annotations

import aiosqlite
import structlog

from memory.clock import Clock, now_text
from memory.files.markdown import MarkdownFiles
from memory.log.sessions import Address
from memory.runtime.preferences import PreferenceStore
from memory.store.database import Database

log = structlog.get_logger(__name__)

_OF_CHAT = "({0} = :former OR substr({0}, 1, length(:former) + 1) = :former || ':')"
_RENAMED = ":present || substr({0}, length(:former) + 1)"
# Tables that show whether an owner has any data.
_OWNER_TABLES = ("entries", "conversations", "media", "changes", "notices", "reminders")
# Message ids of the old chat are invalid in the new chat, where they may belong to other messages.
_CLEARED_IDS = {
    "inbox": ", message_id = NULL",
    "outbox": ", reply_to = NULL, preview_id = NULL, message_ids ="
    " (SELECT json_group_array('former ' || value) FROM json_each(message_ids))",
}


class ChatMigration:
    """Moves a chat to another id. The owner's id stays, so memories are not rewritten."""

    def __init__(self, database: Database, files: MarkdownFiles, preferences: PreferenceStore, clock: Clock) -> None:
        self._database = database
        self._files = files
        self._preferences = preferences
        self._clock = clock

    async def read_new_ids(self, channel: str) -> dict[str, str]:
        """Return the new id of each migrated chat of a channel, by its former id."""
        rows = await self._database.rows("SELECT former, present FROM moves WHERE channel = ?", (channel,))
        return {row["former"]: row["present"] for row in rows}

    async def move(self, former: Address, present: Address) -> bool:
        """Move a chat's sessions, log, memory, files, reminders, mail, preferences and access to another id.

        Return True if it is moved, now or earlier, and False if the new id already has data, which is not mixed. Raises
        StoreError if nothing was moved.
        """
        if former.chat_id in await self.read_new_ids(former.channel):
            return True
        names = {"former": former.owner, "present": present.owner}
        async with self._database.transaction() as connection:
            if await _is_taken(connection, names):
                log.warning("chat_not_moved", former=former.owner, present=present.owner, reason="it has a memory")
                return False
            # Sessions and owners get their new keys before the rows that refer to them.
            await connection.execute("PRAGMA defer_foreign_keys = ON")
            await _move_rows(connection, names)
            await _move_reminders(connection, former.owner, present.owner)
            await connection.execute(
                "UPDATE OR REPLACE members SET user_id = ? WHERE channel = ? AND user_id = ?",
                (present.chat_id, former.channel, former.chat_id),
            )
            await connection.execute(
                "INSERT INTO moves (channel, former, present, at) VALUES (?, ?, ?, ?)",
                (former.channel, former.chat_id, present.chat_id, now_text(self._clock)),
            )
            # Move the files last. If the commit fails, the next attempt finds them at the new place.
            await self._files.move(former.owner, present.owner)
        self._preferences.forget(former.owner, present.owner)
        await self._database.private.reload()
        return True


async def _is_taken(connection: aiosqlite.Connection, names: dict[str, str]) -> bool:
    of_present = "owner_id = (SELECT id FROM owners WHERE name = :present)"
    questions = [f"EXISTS (SELECT 1 FROM {table} WHERE {of_present})" for table in _OWNER_TABLES]
    questions.append("EXISTS (SELECT 1 FROM conversations WHERE session_id = :present)")
    (row,) = await connection.execute_fetchall(f"SELECT {' OR '.join(questions)}", names)
    return bool(row[0])


async def _move_rows(connection: aiosqlite.Connection, names: dict[str, str]) -> None:
    # A session of the new chat is empty, but may have been made private.
    await connection.execute(
        "UPDATE sessions SET private = 1 WHERE id = :former"
        " AND EXISTS (SELECT 1 FROM sessions WHERE id = :present AND private)",
        names,
    )
    await connection.execute("DELETE FROM sessions WHERE id = :present", names)
    await connection.execute("DELETE FROM owners WHERE name = :present", names)
    await connection.execute("UPDATE owners SET name = :present WHERE name = :former", names)
    await connection.execute(
        f"UPDATE sessions SET id = {_RENAMED.format('id')}, chat_id = substr(:present, length(channel) + 2),"
        f" owner = iif(owner = :former, :present, owner) WHERE {_OF_CHAT.format('id')}",
        names,
    )
    for table in ("conversations", "inbox", "outbox", "set_aside", "usage", "media"):
        await connection.execute(
            f"UPDATE {table} SET session_id = {_RENAMED.format('session_id')}{_CLEARED_IDS.get(table, '')}"
            f" WHERE {_OF_CHAT.format('session_id')}",
            names,
        )
    # Their message ids are invalid in the new chat.
    for table in ("previews", "reactions"):
        await connection.execute(f"DELETE FROM {table} WHERE {_OF_CHAT.format('session_id')}", names)
    await connection.execute("UPDATE OR REPLACE family SET owner = :present WHERE owner = :former", names)
    await connection.execute("UPDATE OR REPLACE preferences SET chat = :present WHERE chat = :former", names)


async def _move_reminders(connection: aiosqlite.Connection, former: str, present: str) -> None:
    """Move a chat's reminders, after their owner."""
    await connection.execute(
        "UPDATE reminders SET session_id = ? || substr(session_id, length(?) + 1)"
        " WHERE session_id = ? OR substr(session_id, 1, length(?) + 1) = ? || ':'",
        (present, former, former, former, former),
    )
    # Deliveries to the former id have failed.
    await connection.execute(
        "UPDATE reminders SET state = 'waiting', next_at = told_for WHERE state = 'failed' AND task IS NULL"
        " AND owner_id = (SELECT id FROM owners WHERE name = ?)",
        (present,),
    )
