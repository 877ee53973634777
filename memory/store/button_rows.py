"""Buttons as rows, written in the very transaction that writes the reply that they stand under."""

from __future__ import annotations

import json
import secrets
from datetime import timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from memory.buttons import PAGE, THIS_TURN, PlacedButton, PlacedKeyboard
from memory.clock import to_text
from memory.messages import storable

if TYPE_CHECKING:
    from datetime import datetime

    import aiosqlite

    from memory.buttons import Keyboard

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


async def place_buttons(
    connection: aiosqlite.Connection,
    reply: int | None,
    keyboard: Keyboard,
    *,
    asker: str | None,
    now: datetime,
    turn_id: int | None = None,
) -> None:
    """Put buttons under a reply in the outbox.

    asker: the channel's id of who may press them; None: whoever the chat is with, or looks after it.
    """
    await connection.executemany(
        "INSERT INTO buttons (id, outbox_id, line, label, said, in_place, again, by_reply, asker, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                secrets.token_urlsafe(_ID_BYTES),
                reply,
                line,
                storable(button.label),
                storable(button.text if turn_id is None else button.text.replace(THIS_TURN, str(turn_id))),
                button.in_place,
                button.again,
                button.by_reply,
                asker,
                to_text(now + timedelta(minutes=button.minutes)) if button.minutes is not None else None,
            )
            for line, row in enumerate(keyboard)
            for button in row
        ],
    )


def placed(query: str) -> PlacedKeyboard:
    """The rows in what `PLACED` gives."""
    rows = groupby(json.loads(query), key=lambda button: button[0])
    return tuple(tuple(PlacedButton(*button) for _, *button in row) for _, row in rows)
