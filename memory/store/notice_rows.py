"""Rows of quiet lines that wait for the next reply to an owner. For use inside a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiosqlite


async def keep_notice(
    connection: aiosqlite.Connection, owner_id: int, text: str, now: str, buttons: str = "[]"
) -> None:
    """Tell `text` with the next reply in any chat of an owner. buttons: those under it, as JSON."""
    await connection.execute(
        "INSERT INTO notices (owner_id, text, buttons, at) VALUES (?, ?, ?, ?)", (owner_id, text, buttons, now)
    )
