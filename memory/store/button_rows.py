"""Rows of replies in the outbox and of the buttons under them, and the handling of button presses."""

from __future__ import annotations

import json
import re
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby

import aiosqlite

from memory.buttons import CHOSEN, PAGE, PEOPLE, THIS_TURN, Keyboard, PlacedButton, PlacedKeyboard
from memory.clock import to_text
from memory.messages import Document, make_storable
from memory.store.database import Database, Row

# Ids are random, so that they can't be guessed and a database restored from a backup doesn't issue one twice.
_ID_BYTES = 12

PRESSABLE = "(b.pressed_by IS NULL AND (b.expires_at IS NULL OR b.expires_at > present()))"
"""SQL condition: the button `b` can still be pressed."""

PLACED_BUTTONS = (
    "(SELECT json_group_array(json_array(b.line, b.id, b.label,"
    f" CASE WHEN b.said LIKE '{PAGE}%' OR b.said LIKE '{PEOPLE}%' THEN b.said END)) FROM"
    f" (SELECT * FROM buttons b WHERE b.outbox_id = o.id AND NOT b.by_reply AND {PRESSABLE} ORDER BY b.rowid) b)"
)
"""SQL expression: the buttons under the reply `o` that can still be pressed, as JSON for `parse_placed_buttons`."""

ASKED = f"(SELECT b.label FROM buttons b WHERE b.outbox_id = o.id AND b.by_reply AND {PRESSABLE} LIMIT 1)"
"""SQL expression: the placeholder for the answer to the question in the reply `o`, or NULL if it asks nothing."""


@dataclass(frozen=True, slots=True)
class OutgoingReply:
    """A reply for a channel that delivers from the outbox."""

    channel: str
    text: str
    reply_to: str | None = None
    preview_id: str | None = None  # the message to turn into the reply
    keyboard: Keyboard = ()
    asker: str | None = None  # the only user who may press its buttons, if restricted to one
    silent: bool = False  # delivered without a notification sound
    receiver: str | None = None  # the channel's id of the only user who sees it, if restricted to one
    hides_keyboard: bool = False  # removes the keyboard with which people were chosen


@dataclass(frozen=True, slots=True)
class OutgoingFile:
    """A reply that carries a file."""

    reply: OutgoingReply
    document: Document


async def put_document(connection: aiosqlite.Connection, number: int, document: Document) -> None:
    """Insert the file of a reply in the outbox."""
    await connection.execute(
        "INSERT INTO documents (outbox_id, name, content, is_voice) VALUES (?, ?, ?, ?)",
        (number, document.name, document.content, document.is_voice),
    )


async def put_reply(
    connection: aiosqlite.Connection, session_id: str, reply: OutgoingReply, now: datetime, turn_id: int | None = None
) -> int:
    """Insert a reply and its buttons into the outbox and return its id. `turn_id` is the turn that the reply ends."""
    about = (reply.channel, session_id, turn_id, make_storable(reply.text), reply.reply_to, reply.preview_id)
    cursor = await connection.execute(
        "INSERT INTO outbox (channel, session_id, turn_id, text, reply_to, preview_id, created_at, silent,"
        " receiver, hides_keyboard) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*about, to_text(now), reply.silent, reply.receiver, reply.hides_keyboard),
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
                make_storable(button.label),
                make_storable(button.text if turn_id is None else button.text.replace(THIS_TURN, str(turn_id))),
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


def parse_placed_buttons(rows_json: str) -> PlacedKeyboard:
    rows = groupby(json.loads(rows_json), key=lambda button: button[0])
    return tuple(tuple(PlacedButton(*button) for _, *button in row) for _, row in rows)


def compute_request(button_id: str) -> int:
    """Return the number of a button's request for people, which fits into 31 bits."""
    return zlib.crc32(button_id.encode()) >> 1


def insert_chosen(said: str, people: Sequence[int]) -> str:
    """Return the command of a button with which people were chosen."""
    return said.removeprefix(PEOPLE).replace(CHOSEN, " ".join(map(str, people)))


class ClaimResult(StrEnum):
    NOW = "now"
    BEFORE = "before"
    TOO_LATE = "too late"


@dataclass(frozen=True, slots=True)
class PressedButton:
    id: str
    reply: int  # the outbox id of the reply above it
    session_id: str
    said: str  # the message that the press sends in the user's name
    in_place: bool
    again: bool  # it stays usable after a press
    asker: str | None  # the only user who may press it, if any


class Buttons:
    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel

    async def find(self, button_id: str) -> PressedButton | None:
        """Return the button, or None if it is unknown or was deleted with its reply."""
        return await self._find_first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.id = ? AND NOT b.by_reply AND o.channel = ?",
            (button_id, self._channel),
        )

    async def find_question(self, session_id: str, reply_to: str, message_id: str | None) -> PressedButton | None:
        """Return the question in the message `reply_to`, or None if it asks nothing or has another answer already."""
        return await self._find_first(
            "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
            " WHERE b.by_reply AND o.channel = ? AND o.session_id = ?"
            " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?) AND (b.pressed_by IS NULL"
            " OR EXISTS (SELECT 1 FROM inbox i WHERE i.id = b.pressed_by AND i.message_id = ?))",
            (self._channel, session_id, reply_to, message_id),
        )

    async def list_offers(self, session_id: str, asker: str, name: str, by: int) -> list[PressedButton]:
        """Return the buttons with a command that a person may still press or has pressed with `by`, newest first."""
        return [
            _pressed_button_from_row(row)
            for database in self._database.private.list_databases()
            for row in await database.rows(
                "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
                " WHERE o.channel = ? AND o.session_id = ? AND b.asker = ? AND b.said LIKE ? || '%'"
                f" AND NOT b.by_reply AND ({PRESSABLE} OR b.pressed_by = ?) ORDER BY b.rowid DESC",
                (self._channel, session_id, asker, f"/{name}", by),
            )
        ]

    async def find_request(self, chat: str, request: int) -> PressedButton | None:
        """Return the button with which people can be chosen in a chat or its topics, by the number of its request."""
        for database in self._database.private.list_databases():
            for row in await database.rows(
                "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
                " WHERE o.channel = ? AND (o.session_id = ? OR o.session_id LIKE ? || ':%')"
                f" AND b.said LIKE '{PEOPLE}%'",
                (self._channel, chat, chat),
            ):
                if compute_request(row["id"]) == request:
                    return _pressed_button_from_row(row)
        return None

    async def find_only(self, chat: str, message_id: str | None, commands: Sequence[str]) -> PressedButton | None:
        """Return the button under a message with one of these commands, or None if there is none or several."""
        found = [
            row
            for database in self._database.private.list_databases()
            for row in await database.rows(
                "SELECT b.*, o.session_id FROM buttons b JOIN outbox o ON o.id = b.outbox_id"
                f" WHERE o.channel = ? AND (o.session_id = ? OR o.session_id LIKE ? || ':%') AND {PRESSABLE}"
                " AND EXISTS (SELECT 1 FROM json_each(o.message_ids) WHERE value = ?)",
                (self._channel, chat, chat, message_id),
            )
            if re.match(rf"/(?:{'|'.join(commands)})_\d", row["said"])
        ]
        return _pressed_button_from_row(found[0]) if len(found) == 1 else None

    async def _find_first(self, query: str, parameters: tuple[object, ...]) -> PressedButton | None:
        # The buttons of a private talk are only in the database in memory.
        for database in self._database.private.list_databases():
            if (row := await database.row(query, parameters)) is not None:
                return _pressed_button_from_row(row)
        return None

    async def press(self, button: PressedButton, by: int) -> ClaimResult:
        """Disable the buttons in the row of the pressed one, or all of the reply if it works in place.

        Args:
            by: The inbox id of the press.
        """
        async with self._database.private.get_database_with_row(button.reply).transaction() as connection:
            if button.again:
                query = f"SELECT 1 FROM buttons b WHERE b.id = ? AND {PRESSABLE}"
                rows = await connection.execute_fetchall(query, (button.id,))
                return ClaimResult.NOW if list(rows) else ClaimResult.TOO_LATE
            # A single statement, so that only the first of two concurrent presses finds the rows unpressed.
            await connection.execute(
                f"UPDATE buttons AS b SET pressed_by = :by WHERE outbox_id = :reply AND {PRESSABLE} AND (:all OR line ="
                " (SELECT line FROM buttons WHERE id = :id))"
                f" AND EXISTS (SELECT 1 FROM buttons b WHERE b.id = :id AND {PRESSABLE})",
                {"by": by, "reply": button.reply, "all": button.in_place, "id": button.id},
            )
            (row,) = await connection.execute_fetchall("SELECT pressed_by FROM buttons WHERE id = ?", (button.id,))
        if row[0] is None:
            return ClaimResult.TOO_LATE
        # The same press may arrive again, since an interrupted update is handled again.
        return ClaimResult.NOW if row[0] == by else ClaimResult.BEFORE

    async def list_remaining(self, reply: int) -> PlacedKeyboard:
        """Return the buttons under a reply that can still be pressed."""
        database = self._database.private.get_database_with_row(reply)
        value = await database.value(f"SELECT {PLACED_BUTTONS} FROM outbox o WHERE o.id = ?", (reply,))
        return parse_placed_buttons(value) if value is not None else ()


def _pressed_button_from_row(row: Row) -> PressedButton:
    return PressedButton(
        id=row["id"],
        reply=row["outbox_id"],
        session_id=row["session_id"],
        said=row["said"],
        in_place=bool(row["in_place"]),
        again=bool(row["again"]),
        asker=row["asker"],
    )
