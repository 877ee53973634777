"""The outbox of a channel: replies until they are sent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from memory.buttons import PlacedKeyboard
from memory.clock import Clock, from_text, now_text
from memory.log.sessions import SessionState
from memory.mail.inbox import Inbox
from memory.messages import Document, Provenance
from memory.runtime.preferences import get_chat
from memory.store.button_rows import ASKED, PLACED_BUTTONS, OutgoingReply, parse_placed_buttons, put_document, put_reply
from memory.store.database import Database, Row
from memory.store.private import EMPTY

MAX_REMINDERS = 50
"""Maximum number of reminders of a session that are searched for the times in a reply."""


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """A reply that waits to be sent.

    Attributes:
        preview_id: The message that it replaces.
        message_ids: The messages of the chunks that were sent.
        silent: Send without a sound.
        asks: The placeholder of the answer's input field, if it is a question to be answered by a reply.
        receiver: The only user who may see it, or None for all.
        hides_keyboard: Remove the keyboard with which people were chosen.
    """

    id: int
    session_id: str
    text: str
    reply_to: str | None
    preview_id: str | None
    message_ids: tuple[str, ...]
    keyboard: PlacedKeyboard = ()
    has_document: bool = False
    silent: bool = False
    asks: str | None = None
    receiver: str | None = None
    hides_keyboard: bool = False


@dataclass(frozen=True, slots=True)
class ReminderTime:
    """A time at which a reminder comes or came, with the zone in which it is shown."""

    at: datetime
    zone: ZoneInfo


class Outbox:
    """The replies of one channel."""

    def __init__(self, database: Database, channel: str, clock: Clock, inbox: Inbox) -> None:
        self._database = database
        self._channel = channel
        self._clock = clock
        self._inbox = inbox

    async def answer(
        self,
        session_id: str,
        reply: OutgoingReply,
        inbox_ids: Iterable[int] = (),
        *,
        document: Document | None = None,
        unasked: bool = False,
    ) -> None:
        """Put a reply outside of a turn into the outbox, and finish the updates that it answers.

        Args:
            unasked: It is a notice and not an answer, so it is silent if the chat prefers that.
        """
        await self._inbox.store_waiting()
        finished = set(inbox_ids)
        await self._inbox.end_expected_private(finished)
        answered = [(i,) for i in finished]
        quiet = "SELECT EXISTS (SELECT 1 FROM preferences WHERE chat = ? AND notices IN ('quiet', 'off'))"
        if unasked and await self._database.value(quiet, (get_chat(session_id),)):
            reply = replace(reply, silent=True)
        done = "UPDATE inbox SET state = 'done' WHERE id = ?"
        database = await self._database.private.get_database(session_id)
        # The file only records that the mail is answered, without its text.
        if database is not self._database:
            async with self._database.transaction(first=True) as connection:
                await connection.executemany(
                    f"UPDATE inbox SET state = 'done', payload = '{EMPTY}' WHERE id = ?", answered
                )
        async with database.transaction(first=True) as connection:
            await connection.executemany(done, answered)
            number = await put_reply(connection, session_id, reply, self._clock())
            if document is not None:
                await put_document(connection, number, document)

    async def move_to_chat(self, session_id: str, chat: str) -> None:
        """Move what waits in a deleted topic to its chat: replies, and reminders of all later times."""
        for database in self._database.private.list_databases():
            async with database.transaction() as connection:
                names = (chat, session_id)
                await connection.execute(
                    "UPDATE outbox SET session_id = ?, reply_to = NULL, preview_id = NULL WHERE session_id = ?"
                    " AND state = 'waiting'",
                    names,
                )
                await connection.execute("UPDATE reminders SET session_id = ? WHERE session_id = ?", names)

    async def read_document(self, item: OutboxItem) -> Document | None:
        database = self._database.private.get_database_with_row(item.id)
        row = await database.row("SELECT * FROM documents WHERE outbox_id = ?", (item.id,))
        return None if row is None else Document(row["name"], row["content"], bool(row["is_voice"]))

    async def list_reminder_times(self, session_id: str) -> list[ReminderTime]:
        """Return the last and next times of a session's newest reminders."""
        rows = await self._database.rows(
            "SELECT told_for, next_at, zone FROM reminders WHERE session_id = ? ORDER BY id DESC LIMIT ?",
            (session_id, MAX_REMINDERS),
        )
        return [
            ReminderTime(from_text(moment), ZoneInfo(row["zone"]))
            for row in rows
            for moment in (row["told_for"], row["next_at"])
            if moment is not None
        ]

    async def find_provenance(self, session_id: str, message_id: str) -> Provenance:
        """Return the provenance of the answer that was sent as the given message. FOREIGN if it is unknown."""
        for database in self._database.private.list_databases():
            provenance = await database.value(
                "SELECT coalesce(m.provenance, 'typed') FROM outbox o"
                " JOIN messages m ON m.turn_id = o.turn_id AND m.role = 'assistant'"
                " WHERE o.channel = ? AND o.session_id = ?"
                " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?) ORDER BY m.id DESC LIMIT 1",
                (self._channel, session_id, message_id),
            )
            if provenance is not None:
                return Provenance(provenance)
        return Provenance.FOREIGN

    async def list_unsent(self, session_id: str | None = None) -> list[OutboxItem]:
        return [
            _outbox_item_from_row(row)
            for database in self._database.private.list_databases()
            for row in await database.rows(
                f"SELECT *, {PLACED_BUTTONS} AS keyboard, {ASKED} AS asks,"
                " EXISTS (SELECT 1 FROM documents WHERE outbox_id = o.id) AS has_document"
                " FROM outbox o WHERE channel = ? AND state = 'waiting'"
                " AND (? IS NULL OR session_id = ?) ORDER BY id",
                (self._channel, session_id, session_id),
            )
        ]

    async def record_sent_chunk(self, item: OutboxItem, message_ids: tuple[str, ...]) -> None:
        await self._database.private.get_database_with_row(item.id).write(
            "UPDATE outbox SET message_ids = ? WHERE id = ?", (json.dumps(message_ids), item.id)
        )

    async def settle(
        self,
        item: OutboxItem,
        message_ids: tuple[str, ...],
        failure: str | None = None,
        *,
        terminated: bool = False,
    ) -> None:
        """Mark a reply as sent, or as given up if there is a `failure`.

        Args:
            message_ids: The messages of its chunks.
            terminated: Whether the session has ended.
        """
        if terminated:  # Before the reply is settled, so that a crash between the two is retried.
            await self._database.write(
                "UPDATE sessions SET state = ? WHERE id = ?", (SessionState.TERMINATED, item.session_id)
            )
        await self._database.private.get_database_with_row(item.id).write(
            "UPDATE outbox SET state = ?, failure = ?, settled_at = ?, message_ids = ? WHERE id = ?",
            ("given up" if failure else "sent", failure, now_text(self._clock), json.dumps(message_ids), item.id),
        )


def _outbox_item_from_row(row: Row) -> OutboxItem:
    return OutboxItem(
        id=row["id"],
        session_id=row["session_id"],
        text=row["text"],
        reply_to=row["reply_to"],
        preview_id=row["preview_id"],
        message_ids=tuple(json.loads(row["message_ids"])),
        keyboard=parse_placed_buttons(row["keyboard"]),
        has_document=bool(row["has_document"]),
        silent=bool(row["silent"]),
        asks=row["asks"],
        receiver=row["receiver"],
        hides_keyboard=bool(row["hides_keyboard"]),
    )
