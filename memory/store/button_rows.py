"""Replies for the outbox and the buttons under them, written in one transaction, and what a press of a button does."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

from memory.buttons import PAGE, THIS_TURN, PlacedButton, PlacedKeyboard
from memory.clock import to_text
from memory.messages import storable

if TYPE_CHECKING:
    from datetime import datetime

    import aiosqlite

    from memory.buttons import Keyboard
    from memory.store.database import Database, Row

# A button's id is not to be guessed, and not given twice by a database that was restored from a backup
_ID_BYTES = 12

PRESSABLE = "(b.pressed_by IS NULL AND (b.expires_at IS NULL OR b.expires_at > present()))"
"""Whether the button `b` can still be pressed."""

PLACED = (
    "(SELECT json_group_array(json_array(b.line, b.id, b.label,"
    f" CASE WHEN b.said LIKE '{PAGE}%' THEN b.said END)) FROM"
    f" (SELECT * FROM buttons b WHERE b.outbox_id = o.id AND NOT b.by_reply AND {PRESSABLE} ORDER BY b.rowid) b)"
)
"""The buttons under the reply `o` that can still be pressed, for `placed`."""

ASKED = f"(SELECT b.label FROM buttons b WHERE b.outbox_id = o.id AND b.by_reply AND {PRESSABLE} LIMIT 1)"
"""What is shown where the answer to the question in the reply `o` is written; NULL where it asks nothing."""


@dataclass(frozen=True, slots=True)
class OutgoingReply:
    """A reply for a channel that delivers from the outbox."""

    channel: str
    text: str
    reply_to: str | None = None
    preview_id: str | None = None  # the message to turn into the reply
    keyboard: Keyboard = ()
    asker: str | None = None  # who alone may press its buttons; None: whoever the chat is with, or looks after it
    silent: bool = False  # it comes without a sound
    receiver: str | None = None  # who alone is to see it, as the channel names them; None: the whole chat


async def put_reply(
    connection: aiosqlite.Connection, session_id: str, reply: OutgoingReply, now: datetime, turn_id: int | None = None
) -> int:
    """Put a reply with its buttons into the outbox and return its number there. turn_id: the turn that it ends."""
    about = (reply.channel, session_id, turn_id, storable(reply.text), reply.reply_to, reply.preview_id)
    cursor = await connection.execute(
        "INSERT INTO outbox (channel, session_id, turn_id, text, reply_to, preview_id, created_at, silent,"
        " receiver) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*about, to_text(now), reply.silent, reply.receiver),
    )
    number = int(cursor.lastrowid or 0)
    if not reply.keyboard:
        return number
    await connection.executemany(
        "INSERT INTO buttons (id, outbox_id, line, label, said, in_place, again, by_reply, asker, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                secrets.token_urlsafe(_ID_BYTES),
                number,
                line,
                storable(button.label),
                storable(button.text if turn_id is None else button.text.replace(THIS_TURN, str(turn_id))),
                button.in_place,
                button.again,
                button.by_reply,
                reply.asker,
                to_text(now + timedelta(minutes=button.minutes)) if button.minutes is not None else None,
            )
            for line, row in enumerate(reply.keyboard)
            for button in row
        ],
    )
    return number


def placed(query: str) -> PlacedKeyboard:
    rows = groupby(json.loads(query), key=lambda button: button[0])
    return tuple(tuple(PlacedButton(*button) for _, *button in row) for _, row in rows)


class ClaimResult(StrEnum):
    NOW = "now"
    BEFORE = "before"
    TOO_LATE = "too late"


@dataclass(frozen=True, slots=True)
class PressedButton:
    """A button that somebody presses."""

    id: str
    reply: int  # the one that it stands under, in the outbox
    session_id: str
    said: str  # what it says for them
    in_place: bool
    again: bool  # a press uses up nothing
    asker: str | None  # who may press it, where that is one person


class Buttons:
    """The buttons of one channel. They are kept, so they can be pressed after a restart."""

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    async def find(self, button_id: str) -> PressedButton | None:
        """The button of that id; None for one that was never there, or that is gone with its reply."""
        return await self._first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.id = ? AND NOT b.by_reply AND o.channel = ?",
            (button_id, self._channel),
        )

    async def asked(self, session_id: str, reply_to: str, message_id: str | None) -> PressedButton | None:
        """The question that a reply to `reply_to` answers; None where there is none, or another has answered it."""
        return await self._first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.by_reply AND o.channel = ? AND o.session_id = ?"
            " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?) AND (b.pressed_by IS NULL"
            " OR EXISTS (SELECT 1 FROM inbox i WHERE i.id = b.pressed_by AND i.message_id = ?))",
            (self._channel, session_id, reply_to, message_id),
        )

    async def _first(self, query: str, parameters: tuple[object, ...]) -> PressedButton | None:
        # the buttons of a private talk stand in the database in memory, never in the file
        for database in self._database.private.databases():
            if (row := await database.row(query, parameters)) is not None:
                return _pressed_button(row)
        return None

    async def press(self, button: PressedButton, by: int) -> ClaimResult:
        """Use up the button's row, or all rows where it works in place. by: the press, by its number in the inbox."""
        async with self._database.private.database_with(button.reply).transaction() as connection:
            if button.again:
                query = f"SELECT 1 FROM buttons b WHERE b.id = ? AND {PRESSABLE}"
                rows = await connection.execute_fetchall(query, (button.id,))
                return ClaimResult.NOW if list(rows) else ClaimResult.TOO_LATE
            # one statement decides: of two presses that come together only the first finds the rows unpressed
            await connection.execute(
                f"UPDATE buttons AS b SET pressed_by = :by WHERE outbox_id = :reply AND {PRESSABLE} AND (:all OR line ="
                " (SELECT line FROM buttons WHERE id = :id))"
                f" AND EXISTS (SELECT 1 FROM buttons b WHERE b.id = :id AND {PRESSABLE})",
                {"by": by, "reply": button.reply, "all": button.in_place, "id": button.id},
            )
            (row,) = await connection.execute_fetchall("SELECT pressed_by FROM buttons WHERE id = ?", (button.id,))
        if row[0] is None:
            return ClaimResult.TOO_LATE
        # the same press counts each time it comes, since one that was interrupted is handled again
        return ClaimResult.NOW if row[0] == by else ClaimResult.BEFORE

    async def left(self, reply: int) -> PlacedKeyboard:
        """The buttons under a reply that can still be pressed."""
        database = self._database.private.database_with(reply)
        value = await database.value(f"SELECT {PLACED} FROM outbox o WHERE o.id = ?", (reply,))
        return placed(value) if value is not None else ()


def _pressed_button(row: Row) -> PressedButton:
    return PressedButton(
        id=row["id"],
        reply=row["outbox_id"],
        session_id=row["session_id"],
        said=row["said"],
        in_place=bool(row["in_place"]),
        again=bool(row["again"]),
        asker=row["asker"],
    )
