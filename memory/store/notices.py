"""Notices about background work, shown with the next reply to an owner."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

import aiosqlite

from memory.buttons import Button, Keyboard, Notice
from memory.store.database import Database
from memory.store.entry_rows import get_or_create_owner_id

MAX_NOTICES_PER_REPLY = 5


@dataclass(frozen=True, slots=True)
class PendingNotice:
    """A stored notice. It is deleted when the turn that shows it is committed."""

    id: int
    line: Notice


class PendingNotices:
    def __init__(self, database: Database, notices_enabled: Callable[[str], bool] = lambda _: True) -> None:
        self._database = database
        self.tells = notices_enabled

    async def add(self, owner: str, *lines: Notice) -> None:
        """Show the lines with the next reply in any chat of an owner, unless the owner has turned notices off."""
        if not lines or not self.tells(owner):
            return
        async with self._database.transaction() as connection:
            owner_id = await get_or_create_owner_id(connection, owner)
            for line in lines:
                await store_notice(connection, owner_id, line)

    async def list_waiting(self, owner: str) -> list[PendingNotice]:
        rows = await self._database.rows(
            "SELECT n.id, n.text, n.buttons FROM notices n JOIN owners o ON o.id = n.owner_id WHERE o.name = ?"
            " ORDER BY n.id LIMIT ?",
            (owner, MAX_NOTICES_PER_REPLY),
        )
        return [PendingNotice(row["id"], Notice(row["text"], _keyboard_from_rows(row["buttons"]))) for row in rows]


async def store_notice(connection: aiosqlite.Connection, owner_id: int, line: Notice) -> None:
    """Store a line with its buttons for the next reply in any chat of an owner."""
    buttons = json.dumps([[asdict(button) for button in row] for row in line.keyboard], ensure_ascii=False)
    await connection.execute(
        "INSERT INTO notices (owner_id, text, buttons, at) VALUES (?, ?, ?, present())", (owner_id, line.text, buttons)
    )


def _keyboard_from_rows(rows: str) -> Keyboard:
    return tuple(tuple(Button(**button) for button in row) for row in json.loads(rows))
