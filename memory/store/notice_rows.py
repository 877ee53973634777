"""Rows of quiet lines that wait for the next reply to an owner. For use inside a transaction."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from memory.buttons import Button

if TYPE_CHECKING:
    import aiosqlite

    from memory.buttons import Keyboard, Notice


async def keep_notice(connection: aiosqlite.Connection, owner_id: int, line: Notice, now: str) -> None:
    """Tell a line, with its buttons, with the next reply in any chat of an owner."""
    await connection.execute(
        "INSERT INTO notices (owner_id, text, buttons, at) VALUES (?, ?, ?, ?)",
        (owner_id, line.text, _to_json(line.keyboard), now),
    )


def _to_json(keyboard: Keyboard) -> str:
    return json.dumps([[asdict(button) for button in row] for row in keyboard], ensure_ascii=False)


def keyboard_of(rows: str) -> Keyboard:
    """The buttons of a line that was kept."""
    return tuple(tuple(Button(**button) for button in row) for row in json.loads(rows))
