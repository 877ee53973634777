"""Keeping the search index in step: what a write touches leaves the index before it and enters it after.

The index stores no text. To take a row out, FTS5 must be given the very text that it was put in with. For entries and
their names triggers see to that (memory/store/schema.sql). For messages, whose neighbours are
in the index too, `touching_conversation` stands around the write, in its transaction.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING

from memory.errors import StoreError, is_of_surroundings
from memory.store.schema import INDEXES, PART_BITS, schema

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    import aiosqlite

    from memory.store.database import Database

    Progress = Callable[[float], None]
    """Is told from time to time what share is done."""

ROW = f"(rowid & {(1 << PART_BITS) - 1})"
"""The number of an entry or a message in a row of the index, whoever's it is."""
IN_PART = "rowid BETWEEN :first_row AND :last_row"
"""Whether a row lies in the part of the index that `part_of` names."""
IN_FAMILY_PART = f"rowid < {1 << PART_BITS}"
"""Whether a row lies in the part that what is shared stands in beside that of its owner."""

_COLUMNS = "body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_LEAVE = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', row, {_COLUMNS} FROM"
_ENTER = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT row, {_COLUMNS} FROM"

# what FTS5 adds to a table's name for those that it keeps it in
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
DERIVED = (*INDEXES, "vectors", "endpoints", "published")
"""Tables that hold nothing that can't be had again: damaged ones are dropped and made anew."""
# what each index is made of, and what finds a row there at once
_SOURCES = (
    ("search", "searchable_entries", "id"),
    ("search", "searchable_messages", "id"),
    ("search_parts", "searchable_parts", "row"),
)
# rows that enter an index between two tellings of how far it is
_SLICE = 1_000

_LAST_ROW = (1 << 63) - 1
NEIGHBOURS = 2
"""How many messages before a new one have it in their columns."""


def part_of(owner_id: int | None) -> dict[str, object]:
    """The parameters of IN_PART: the rows of what one owner has; None: of all."""
    if owner_id is None:
        return {"first_row": 1 << PART_BITS, "last_row": _LAST_ROW}  # without the copies in the family's part
    # an owner's rows lie together, so that FTS5 reads only their stretch of each word's list
    return {"first_row": owner_id << PART_BITS, "last_row": (owner_id + 1 << PART_BITS) - 1}


def source_of(row: int) -> tuple[bool, int]:
    """Whether the number in a row of the index is a message's, and the id of the message or entry."""
    # the views in schema.sql number messages odd and entries even, so that both fit into one index
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


async def make_anew(database: Database, work: Callable[[aiosqlite.Connection, bool], Awaitable[None]]) -> None:
    """Have derived tables made anew by `work`, which is told whether to abandon their pages as damaged."""
    try:
        async with database.transaction() as connection:
            await work(connection, False)
    except StoreError as error:
        if is_of_surroundings(error):
            raise
        # from the start: SQLite writes nothing more in a transaction that has met a damaged page
        async with database.transaction() as connection:
            await work(connection, True)
        await database.vacuum()


async def reindex(database: Database, progress: Progress = lambda _: None) -> None:
    async def work(connection: aiosqlite.Connection, abandon: bool) -> None:
        await rebuild(connection, progress, abandon=abandon)

    await make_anew(database, work)


async def rebuild(
    connection: aiosqlite.Connection, progress: Progress = lambda _: None, *, abandon: bool = False
) -> None:
    """Make all indexes anew from what they index. abandon: see `renew`."""
    for index in INDEXES:
        await renew(connection, index, abandon=abandon)
    # in the order of the rows: FTS5 writes a segment whenever a row is smaller than the one before
    rows = {
        view: [
            row[0]
            for row in await connection.execute_fetchall(f"SELECT {key} FROM {view} GROUP BY 1 ORDER BY min(row)")
        ]
        for _, view, key in _SOURCES
    }
    done, whole = 0, sum(map(len, rows.values()))
    for index, view, key in _SOURCES:
        columns = _COLUMNS if index == "search" else "owner, body"
        for first in range(0, len(rows[view]), _SLICE):
            batch = rows[view][first : first + _SLICE]
            await connection.execute(
                f"INSERT INTO {index} (rowid, {columns}) SELECT row, {columns} FROM {view}"
                f" WHERE {key} IN (SELECT value FROM json_each(?)) ORDER BY row",
                (json.dumps(batch),),
            )
            done += len(batch)
            progress(done / whole)


async def renew(connection: aiosqlite.Connection, table: str, *, abandon: bool = False) -> None:
    """Make a derived table anew, empty. abandon: its pages, or the records that they hold, can't be read."""
    made = [
        row[0]
        for row in await connection.execute_fetchall(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY rowid", (table,)
        )
    ]
    # the table itself may be missing
    made = made or [statement for statement in schema() if _creates(statement, table)]
    if abandon:
        named = json.dumps([f"{table}{end}" for end in ("", *_SHADOWS)])
        # DROP TABLE would read the damaged pages to give them back; without a name nobody reads them, and VACUUM
        # removes them
        await connection.execute("PRAGMA writable_schema = ON")
        await connection.execute(
            "DELETE FROM sqlite_schema WHERE tbl_name IN (SELECT value FROM json_each(?))", (named,)
        )
        await connection.execute("PRAGMA writable_schema = RESET")
    else:
        # FTS5 drops the tables that it keeps an index in with it; one that has lost its name left them behind
        for end in ("", *_SHADOWS) if table in INDEXES else ("",):
            await connection.execute(f"DROP TABLE IF EXISTS {table}{end}")
    for statement in made:
        await connection.execute(statement)


def _creates(statement: str, table: str) -> bool:
    return re.search(rf"^CREATE (VIRTUAL )?TABLE {table}\b", statement, re.MULTILINE) is not None


def is_derived(table: str) -> bool:
    return table in DERIVED or any(table == f"{index}{end}" for index in INDEXES for end in _SHADOWS)


async def _first_touched(connection: aiosqlite.Connection, conversation_id: int, last_turn: int | None) -> int:
    """The id of the first message whose neighbours change when the conversation's end does."""
    rows = await connection.execute_fetchall(
        "SELECT id FROM spoken WHERE conversation_id = ? AND (? IS NULL OR turn_id < ?) ORDER BY id DESC LIMIT ?",
        (conversation_id, last_turn, last_turn, NEIGHBOURS),
    )
    ids = [int(row[0]) for row in rows]
    return min(ids, default=0)
