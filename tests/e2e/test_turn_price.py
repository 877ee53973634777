"""Tests that no statement of a turn scans a growing table."""

from __future__ import annotations

import re

from bot.kernel import App
from memory.store.database import Database
from tests.support.fakes import FakeClock, Person

CHATS, CONVERSATIONS, TURNS = 40, 10, 10
GROWING = ("messages", "turns", "conversations", "entries", "names", "changes", "inbox", "outbox", "media", "usage")
"""The tables that grow with use. What else is scanned is derived in the statement itself, or a list of values."""
SMALL_INDEXES = ("unsettled_notes", "unwritten_changes", "due_conversations")
"""Partial indexes over a few rows that wait for something: to scan one is cheap."""
_ALIAS = re.compile(r"\b(?:FROM|JOIN) \(*(\w+)(?: AS)? (\w+)\b")
_SCAN = re.compile(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?$")
_FILL = (
    (
        "WITH v(n) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
        " INSERT INTO conversations (session_id, owner_id, started_at, ended_at)"
        " SELECT s.id, o.id, '2026', CASE WHEN v.n < 9 THEN '2026' END"
        " FROM sessions s JOIN owners o ON o.name = s.owner, v WHERE s.channel = 'x'"
    ),
    (
        "WITH v(n) AS (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
        " INSERT INTO turns (conversation_id, outcome, started_at, finished_at, note)"
        " SELECT c.id, 'answered', '2026', '2026', 'written' FROM conversations c, v WHERE c.session_id LIKE 'x:%'"
    ),
    (
        "WITH r(role) AS (VALUES ('user'), ('assistant'))"
        " INSERT INTO messages (conversation_id, turn_id, role, content, created_at, provenance)"
        " SELECT t.conversation_id, t.id, r.role, 'Hello from ' || t.id, '2026-01-01T00:00:00.000Z', 'typed'"
        " FROM turns t JOIN conversations c ON c.id = t.conversation_id, r WHERE c.session_id LIKE 'x:%'"
    ),
    "INSERT INTO search (search) VALUES ('rebuild')",
)


async def fill(database: Database) -> None:
    """Write a year's log of many chats with thousands of messages."""
    async with database.transaction() as connection:
        await connection.executemany(
            "INSERT INTO sessions (id, channel, chat_id, owner, created_at, updated_at) VALUES (?, 'x', ?, ?, ?, ?)",
            [(f"x:{n}", str(n), f"x:{n}", "2026", "2026") for n in range(CHATS)],
        )
        await connection.executemany("INSERT INTO owners (name) VALUES (?)", [(f"x:{n}",) for n in range(CHATS)])
        for statement in _FILL:
            await connection.execute(statement)
    assert await database.value("SELECT count(*) FROM messages") >= 2 * CHATS * CONVERSATIONS * TURNS


async def record_statements(app: App, person: Person, text: str) -> set[str]:
    """Return the statements that a turn runs, with their values."""
    seen: set[str] = set()
    database = app.database
    for connection in (database._reader, database._writer):  # noqa: SLF001  # There is no other way to see the statements.
        await connection.set_trace_callback(seen.add)
    await person.says(text)
    for connection in (database._reader, database._writer):  # noqa: SLF001
        await connection.set_trace_callback(lambda _: None)
    return {sql for sql in seen if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)\b", sql)}


async def find_scanned_tables(database: Database, sql: str) -> list[str]:
    """Return the growing tables that the plan of a statement scans."""
    aliases = {alias: table for table, alias in _ALIAS.findall(sql)}
    async with database.transaction() as connection:
        rows = await connection.execute_fetchall(f"EXPLAIN QUERY PLAN {sql}")
    scans = [match for row in rows if (match := _SCAN.match(row[3])) is not None and match[2] not in SMALL_INDEXES]
    return [table for scan in scans if (table := aliases.get(scan[1], scan[1])) in GROWING]


async def test_statements_of_a_turn_scan_no_growing_table(app: App, person: Person, clock: FakeClock) -> None:
    await person.says("Hello, I live in Kyiv.")
    await fill(app.database)
    await person.says("/new")
    await person.says("I moved to Lviv. Where do I live?")
    clock.forward(minutes=5)
    for text in ("Remember that I like tea.", "Where do I live now?", "Always answer in English.", "Good night"):
        for sql in await record_statements(app, person, text):
            assert await find_scanned_tables(app.database, sql) == [], sql


async def test_statements_at_the_end_of_a_conversation_scan_no_table(app: App, person: Person) -> None:
    await fill(app.database)
    await person.says("I live in Kyiv with my sister.")
    for sql in await record_statements(app, person, "/new"):
        assert await find_scanned_tables(app.database, sql) == [], sql
