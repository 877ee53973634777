"""The mail of a channel: its inbox, its outbox, and the messages on its way to a reply."""

from __future__ import annotations

from memory.clock import Clock
from memory.mail.inbox import Inbox
from memory.mail.outbox import Outbox
from memory.store.button_rows import Buttons
from memory.store.database import Database


class Mailbox:
    """The inbox and the outbox of one channel, with the buttons and passing signs of its messages."""

    def __init__(self, database: Database, channel: str, clock: Clock) -> None:
        self.inbox = Inbox(database, channel, clock)
        self.outbox = Outbox(database, channel, clock, self.inbox)
        self.signs = PassingSigns(database, channel)
        self.buttons = Buttons(database, channel)


class PassingSigns:
    """The previews and reactions that the bot has placed and must remove after a restart."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    async def list_previews(self) -> dict[str, str]:
        """Return the preview message of each session with a turn that was never committed."""
        return dict(await self._list_message_ids("previews"))

    async def store_preview(self, session_id: str, message_id: str) -> None:
        """Store the message that previews the reply, until a turn of the session is committed."""
        await self._store_message_id("previews", session_id, message_id)

    async def list_reactions(self) -> list[tuple[str, str]]:
        """Return session and id of the messages that may have a reaction by the bot."""
        return await self._list_message_ids("reactions")

    async def store_reaction(self, session_id: str, message_id: str) -> None:
        await self._store_message_id("reactions", session_id, message_id)

    async def drop_reaction(self, session_id: str, message_id: str) -> None:
        await self._database.write(
            "DELETE FROM reactions WHERE channel = ? AND session_id = ? AND message_id = ?",
            (self._channel, session_id, message_id),
        )

    async def _list_message_ids(self, table: str) -> list[tuple[str, str]]:
        query = f"SELECT session_id, message_id FROM {table} WHERE channel = ?"
        return [(row["session_id"], row["message_id"]) for row in await self._database.rows(query, (self._channel,))]

    async def _store_message_id(self, table: str, session_id: str, message_id: str) -> None:
        statement = f"INSERT OR REPLACE INTO {table} (channel, session_id, message_id) VALUES (?, ?, ?)"
        await self._database.write(statement, (self._channel, session_id, message_id))
