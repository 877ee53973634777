"""Keeping the search index in step: what a write touches leaves the index before it and enters it after.

The index stores no text. To take a row out, FTS5 must be given the very text that it was put in with. For entries and
their names triggers see to that (INDEX_BY_TRIGGERS in memory/store/migrations.py). For messages, whose neighbours are
in the index too, `touching_conversation` stands around the write, in its transaction.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from memory.store.migrations import INDEXES, PART_BITS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import aiosqlite

ROW = f"(rowid & {(1 << PART_BITS) - 1})"
"""The number of an entry or a message in a row of the index, whoever's it is."""
IN_PART = "rowid BETWEEN :first_row AND :last_row"
"""Whether a row lies in the part of the index that `part_of` names."""

_COLUMNS = "body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_LEAVE = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', row, {_COLUMNS} FROM"
_ENTER = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT row, {_COLUMNS} FROM"

_LAST_ROW = (1 << 63) - 1
NEIGHBOURS = 2
"""How many messages before a new one have it in their columns."""


def part_of(owner_id: int | None) -> dict[str, object]:
    """The parameters of IN_PART: the rows of what one owner has; None: of all.

    All rows of an owner lie together, so FTS5 reads only their stretch of each word's list.
    """
    if owner_id is None:
        return {"first_row": 0, "last_row": _LAST_ROW}
    return {"first_row": owner_id << PART_BITS, "last_row": (owner_id + 1 << PART_BITS) - 1}


def source_of(row: int) -> tuple[bool, int]:
    """Whether the number in a row of the index is a message's, and the id of the message or entry."""
    return row % 2 == 1, row // 2


@contextlib.asynccontextmanager
async def touching_conversation(
    connection: aiosqlite.Connection, conversation_id: int, last_turn: int | None = None
) -> AsyncIterator[None]:
    """Around a write that adds messages to the end of a conversation, or hides those of its last turn."""
    first = await _first_touched(connection, conversation_id, last_turn)
    where = "searchable_messages WHERE id IN (SELECT id FROM spoken WHERE conversation_id = ? AND id >= ?)"
    await connection.execute(f"{_LEAVE} {where}", (conversation_id, first))
    yield
    await connection.execute(f"{_ENTER} {where}", (conversation_id, first))


async def leave_session(connection: aiosqlite.Connection, session_id: str) -> None:
    """Before a session is deleted with its log."""
    await connection.execute(
        f"{_LEAVE} searchable_messages WHERE id IN (SELECT m.id FROM spoken m"
        " JOIN conversations c ON c.id = m.conversation_id WHERE c.session_id = ?)",
        (session_id,),
    )


@contextlib.asynccontextmanager
async def rebuilding(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """Around a write of very many entries: one by one they would take long, so the index is made anew at its end."""
    trigger = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = 'name_enters'"
    (row,) = await connection.execute_fetchall(trigger)
    await connection.execute("DROP TRIGGER name_enters")
    yield
    await connection.execute(row[0])
    await rebuild(connection)


async def rebuild(connection: aiosqlite.Connection) -> None:
    """Make all indexes anew from what they index."""
    for index in INDEXES:
        await connection.execute(f"INSERT INTO {index} ({index}) VALUES ('rebuild')")


async def _first_touched(connection: aiosqlite.Connection, conversation_id: int, last_turn: int | None) -> int:
    """The id of the first message whose neighbours change when the conversation's end does."""
    rows = await connection.execute_fetchall(
        "SELECT id FROM spoken WHERE conversation_id = ? AND (? IS NULL OR turn_id < ?) ORDER BY id DESC LIMIT ?",
        (conversation_id, last_turn, last_turn, NEIGHBOURS),
    )
    ids = [int(row[0]) for row in rows]
    return min(ids, default=0)
