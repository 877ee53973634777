"""Updates and rebuilds of the search index.

The FTS5 index stores no text, so deleting a row requires exactly the text that it was inserted with. Triggers in
schema.sql do this for entries and their names. A row of a message also contains its neighbours, so writes of messages
run inside `touching_conversation`, which removes the affected rows before the write and inserts them after it.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import aiosqlite

from memory.errors import StoreError, is_environmental
from memory.store.database import Database
from memory.store.schema import INDEXES, PART_BITS, read_schema

Progress = Callable[[float], None]
"""Called with the completed share, between 0 and 1."""

ROW = f"(rowid & {(1 << PART_BITS) - 1})"
"""SQL expression: the row number without the owner's bits."""
IN_PART = "rowid BETWEEN :first_row AND :last_row"
"""SQL condition: the row belongs to the owner given by `get_part_parameters`."""
IN_FAMILY_PART = f"rowid < {1 << PART_BITS}"
"""SQL condition: the row is a copy of a shared entry, which the family can search."""

_COLUMNS = "body, name, tags, scope, speaker, date, previous, next, second_previous, second_next"
_LEAVE = f"INSERT INTO search (search, rowid, {_COLUMNS}) SELECT 'delete', row, {_COLUMNS} FROM"
_ENTER = f"INSERT INTO search (rowid, {_COLUMNS}) SELECT row, {_COLUMNS} FROM"

# Suffixes of the tables in which FTS5 stores an index.
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")
DERIVED = (*INDEXES, "vectors", "endpoints", "published")
"""Tables that can be filled again from other data. Damaged ones are dropped and created again."""
# Index, the view that it is built from, and the view's key.
_SOURCES = (
    ("search", "searchable_entries", "id"),
    ("search", "searchable_messages", "id"),
    ("search_parts", "searchable_parts", "row"),
)
_ROWS_PER_PROGRESS = 1_000

_LAST_ROW = (1 << 63) - 1
NEIGHBOURS = 2
"""Number of preceding messages that include a new message in their index rows."""


def get_part_parameters(owner_id: int | None) -> dict[str, object]:
    """Return the parameters of IN_PART for one owner, or for all owners if None."""
    if owner_id is None:
        return {"first_row": 1 << PART_BITS, "last_row": _LAST_ROW}  # Without the copies for the family.
    # The rows of one owner are a range, so that FTS5 reads only that range of a word's list.
    return {"first_row": owner_id << PART_BITS, "last_row": (owner_id + 1 << PART_BITS) - 1}


def split_row(row: int) -> tuple[bool, int]:
    """Split a row number into whether it is a message, and the id of the message or entry."""
    # The views in schema.sql give messages odd and entries even numbers.
    return row % 2 == 1, row // 2


@contextlib.asynccontextmanager
async def touching_conversation(
    connection: aiosqlite.Connection,
    conversation_id: int,
    last_turn: int | None = None,
    *,
    first_message: int | None = None,
) -> AsyncIterator[None]:
    """Update the index around a write to the end of a conversation.

    Args:
        last_turn: The first turn that the write removes or hides. None for a write that only adds messages.
        first_message: The first message that the write replaces, or None.
    """
    first = await _find_first_touched(connection, conversation_id, last_turn, first_message)
    where = "searchable_messages WHERE id IN (SELECT id FROM spoken WHERE conversation_id = ? AND id >= ?)"
    await connection.execute(f"{_LEAVE} {where}", (conversation_id, first))
    yield
    await connection.execute(f"{_ENTER} {where}", (conversation_id, first))


@contextlib.asynccontextmanager
async def touching_messages(connection: aiosqlite.Connection, ids: Iterable[int]) -> AsyncIterator[None]:
    """Update the index around a write that changes or deletes messages anywhere in their conversations."""
    touched = json.dumps(
        [
            row[0]
            for row in await connection.execute_fetchall(
                "SELECT id FROM messages WHERE id IN (SELECT value FROM json_each(:ids)) UNION"
                " SELECT s.id FROM json_each(:ids) k JOIN messages m ON m.id = k.value JOIN spoken s ON s.id IN"
                " (SELECT id FROM spoken WHERE conversation_id = m.conversation_id AND id < m.id"
                " ORDER BY id DESC LIMIT :reach) UNION"
                " SELECT s.id FROM json_each(:ids) k JOIN messages m ON m.id = k.value JOIN spoken s ON s.id IN"
                " (SELECT id FROM spoken WHERE conversation_id = m.conversation_id AND id > m.id"
                " ORDER BY id LIMIT :reach)",
                {"ids": json.dumps([*ids]), "reach": NEIGHBOURS},
            )
        ]
    )
    where = "searchable_messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    await connection.execute(f"{_LEAVE} {where}", (touched,))
    yield
    await connection.execute(f"{_ENTER} {where}", (touched,))


async def remove_session(connection: aiosqlite.Connection, session_id: str) -> None:
    """Remove the messages of a session from the index before the session is deleted."""
    await connection.execute(
        f"{_LEAVE} searchable_messages WHERE id IN (SELECT m.id FROM spoken m"
        " JOIN conversations c ON c.id = m.conversation_id WHERE c.session_id = ?)",
        (session_id,),
    )


@contextlib.asynccontextmanager
async def rebuilding(connection: aiosqlite.Connection) -> AsyncIterator[None]:
    """Suspend the index around a write of very many entries, and rebuild it at the end, which is faster."""
    trigger = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = 'name_enters'"
    (row,) = await connection.execute_fetchall(trigger)
    await connection.execute("DROP TRIGGER name_enters")
    yield
    await connection.execute(row[0])
    await rebuild(connection)


async def rebuild_derived(database: Database, work: Callable[[aiosqlite.Connection, bool], Awaitable[None]]) -> None:
    """Rebuild derived tables with `work`, a second time with `abandon` set if their pages are damaged."""
    try:
        async with database.transaction() as connection:
            await work(connection, False)
    except StoreError as error:
        if is_environmental(error):
            raise
        # In a new transaction, since SQLite refuses writes after it has found a damaged page.
        async with database.transaction() as connection:
            await work(connection, True)
        await database.vacuum()


async def drop_vectors(database: Database) -> None:
    """Delete the vectors of all texts, which are computed again in the background."""
    await database.write("DELETE FROM vectors")


async def reindex(database: Database, progress: Progress = lambda _: None) -> None:
    async def work(connection: aiosqlite.Connection, abandon: bool) -> None:
        await rebuild(connection, progress, abandon=abandon)

    await rebuild_derived(database, work)


async def rebuild(
    connection: aiosqlite.Connection, progress: Progress = lambda _: None, *, abandon: bool = False
) -> None:
    """Rebuild all indexes. `abandon` is as in `renew`."""
    for index in INDEXES:
        await renew(connection, index, abandon=abandon)
    # In ascending order: FTS5 starts a new segment for each row number that is lower than the previous one.
    rows = {
        view: [
            row[0]
            for row in await connection.execute_fetchall(f"SELECT {key} FROM {view} GROUP BY 1 ORDER BY min(row)")
        ]
        for _, view, key in _SOURCES
    }
    done, total = 0, sum(map(len, rows.values()))
    for index, view, key in _SOURCES:
        columns = _COLUMNS if index == "search" else "owner, body"
        for first in range(0, len(rows[view]), _ROWS_PER_PROGRESS):
            batch = rows[view][first : first + _ROWS_PER_PROGRESS]
            await connection.execute(
                f"INSERT INTO {index} (rowid, {columns}) SELECT row, {columns} FROM {view}"
                f" WHERE {key} IN (SELECT value FROM json_each(?)) ORDER BY row",
                (json.dumps(batch),),
            )
            done += len(batch)
            progress(done / total)


async def renew(connection: aiosqlite.Connection, table: str, *, abandon: bool = False) -> None:
    """Drop a derived table and create it again, empty. Set `abandon` if its pages can't be read."""
    statements = [
        row[0]
        for row in await connection.execute_fetchall(
            "SELECT sql FROM sqlite_schema WHERE tbl_name = ? AND sql IS NOT NULL ORDER BY rowid", (table,)
        )
    ]
    # The table itself may be missing.
    statements = statements or [statement for statement in read_schema() if _creates(statement, table)]
    if abandon:
        named = json.dumps([f"{table}{end}" for end in ("", *_SHADOWS)])
        # DROP TABLE would read the damaged pages. Deleting the table from the schema avoids that, and VACUUM removes
        # the pages.
        await connection.execute("PRAGMA writable_schema = ON")
        await connection.execute(
            "DELETE FROM sqlite_schema WHERE tbl_name IN (SELECT value FROM json_each(?))", (named,)
        )
        await connection.execute("PRAGMA writable_schema = RESET")
    else:
        # FTS5 also drops the tables that store an index, unless the index itself is missing.
        for end in ("", *_SHADOWS) if table in INDEXES else ("",):
            await connection.execute(f"DROP TABLE IF EXISTS {table}{end}")
    for statement in statements:
        await connection.execute(statement)


def _creates(statement: str, table: str) -> bool:
    return re.search(rf"^CREATE (VIRTUAL )?TABLE {table}\b", statement, re.MULTILINE) is not None


def is_derived(table: str) -> bool:
    return table in DERIVED or any(table == f"{index}{end}" for index in INDEXES for end in _SHADOWS)


async def _find_first_touched(
    connection: aiosqlite.Connection, conversation_id: int, last_turn: int | None, first_message: int | None
) -> int:
    """Return the id of the first message with a row that includes messages at the end of the conversation."""
    rows = await connection.execute_fetchall(
        "SELECT id FROM spoken WHERE conversation_id = ? AND (? IS NULL OR turn_id < ?) AND (? IS NULL OR id < ?)"
        " ORDER BY id DESC LIMIT ?",
        (conversation_id, last_turn, last_turn, first_message, first_message, NEIGHBOURS),
    )
    ids = [int(row[0]) for row in rows]
    return min(ids, default=0)
