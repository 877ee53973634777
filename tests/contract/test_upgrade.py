"""Upgrades from every released format of the database: nothing lost, all or nothing, and a way back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memory.errors import StoreError
from memory.search.search import Search
from memory.store.database import Database
from memory.store.migrations import MIGRATIONS, SNOWBALL

if TYPE_CHECKING:
    from pathlib import Path

    from memory.store.migrations import Migration

NOW = "2026-02-07T12:15:00.000Z"
WRITTEN = {
    1: """
        INSERT INTO owners (name) VALUES ('telegram:1'), ('telegram:2');
        INSERT INTO sessions (id, channel, chat_id, thread_id, owner, state, metadata, created_at, updated_at) VALUES
            ('telegram:1', 'telegram', '1', NULL, 'telegram:1', 'ACTIVE', '{}', 'NOW', 'NOW');
        INSERT INTO conversations (session_id, owner_id, started_at) VALUES ('telegram:1', 1, 'NOW');
        INSERT INTO turns (conversation_id, outcome, started_at, finished_at)
            VALUES (1, 'answered', 'NOW', 'NOW');
        INSERT INTO messages (conversation_id, turn_id, role, content, created_at) VALUES
            (1, 1, 'user', 'The hive is in Poltava', 'NOW'), (1, 1, 'assistant', 'Noted.', 'NOW');
        INSERT INTO markers (conversation_id, archive_name, archive_id, archived_at, first_kept_message_id)
            VALUES (1, 'archive-1', 1, 'NOW', 1)
    """,
    2: """
        INSERT INTO entries (owner_id, kind, content, last_reinforced_at, valid_from, author, created_at)
            VALUES (1, 'note', 'Berta swarmed', 'NOW', 'NOW', 'user', 'NOW');
        INSERT INTO names VALUES (1, 'berta', 'berta', 1, 0)
    """,
    3: """
        INSERT INTO inbox (channel, update_id, session_id, payload, received_at)
            VALUES ('telegram', 7, 'telegram:1', '{}', 'NOW');
        INSERT INTO outbox (channel, session_id, turn_id, text, created_at)
            VALUES ('telegram', 'telegram:1', 1, 'Noted.', 'NOW')
    """,
    4: """
        INSERT INTO members (channel, user_id, since) VALUES ('telegram', 1, 'NOW');
        INSERT INTO claim_codes VALUES ('telegram', 'digest', 'NOW', 2);
        INSERT INTO usage (at, session_id, purpose, model, prompt_tokens, cached_tokens, completion_tokens)
            VALUES ('NOW', 'telegram:1', 'turn', 'm', 10, 5, 3)
    """,
    5: """
        INSERT INTO changes (batch, owner_id, entry_id, operation, author, at)
            VALUES (1, 1, 1, 'add', 'user', 'NOW')
    """,
    6: "INSERT INTO search (search) VALUES ('rebuild')",
    10: """
        INSERT INTO notices (owner_id, text, at) VALUES (1, 'learned', 'NOW');
        INSERT INTO jobs VALUES ('weekly', 'NOW')
    """,
    11: "INSERT INTO endpoints (url, model) VALUES ('http://localhost:8080/v1', 'm')",
    18: """
        INSERT INTO set_aside VALUES ('telegram', 8, 'telegram:1', '{}', 'NOW');
        INSERT INTO previews VALUES ('telegram', 'telegram:1', '9');
        INSERT INTO effects VALUES ('1/note_add/1', 'NOW')
    """,
    19: """
        INSERT INTO media (owner_id, session_id, kind, channel, file_id, unique_id, created_at)
            VALUES (1, 'telegram:1', 'document', 'telegram', 'f', 'u', 'NOW');
        INSERT INTO media_parts (media_id, owner_id, number, label, content) VALUES (1, 1, 1, 'page 1', 'A boat')
    """,
    20: """
        INSERT INTO embedding_models (name) VALUES ('e');
        INSERT INTO vectors (row, owner_id, model_id, signs, vector) VALUES (2, 1, 1, x'00', x'00')
    """,
    21: "INSERT INTO buttons (id, outbox_id, line, label, said, in_place) VALUES ('x', 1, 0, 'Undo', '/undo_1', 0)",
    22: "INSERT INTO refused VALUES ('telegram', 5)",
    23: """
        INSERT INTO reminders (id, owner_id, session_id, text, repeat, first, zone, state, next_at, created_at)
            VALUES (1, 1, 'telegram:1', 'Feed the bees', 'daily', '2026-03-01T09:00', 'Europe/Kyiv', 'waiting', 'NOW',
                'NOW')
    """,
    24: "INSERT INTO preferences (chat, language) VALUES ('telegram:1', 'de')",
    25: "INSERT INTO reactions VALUES ('telegram', 'telegram:1', '9')",
    27: "INSERT INTO documents VALUES (1, 'mneme-export.zip', x'504b')",
    28: "INSERT INTO moves VALUES ('telegram', '-5', '-1005', 'NOW')",
    29: "INSERT INTO traces (indexed) VALUES (0)",
    32: """
        INSERT INTO buttons (id, outbox_id, line, label, said, in_place, by_reply)
            VALUES ('q', 1, 0, 'The new text', '/edit #1', 0, 1)
    """,
    33: "INSERT INTO published VALUES ('telegram', 'menu', 'digest')",
    36: "INSERT INTO speakers VALUES (1, 'ann', '5')",
    39: "INSERT INTO job_attempts VALUES ('weekly', 1)",
}
"""What was written with each format, in the words of that time."""

Contents = dict[str, list[tuple[object, ...]]]

PAST = pytest.mark.parametrize("past", range(1, len(MIGRATIONS)))


async def lived(path: Path, past: int) -> Contents:
    """A database of a former format with rows in every table; what is in it."""
    database = await Database.open(path, MIGRATIONS[:past])
    try:
        async with database.transaction() as connection:
            for number in range(1, past + 1):
                for statement in WRITTEN.get(number, "SELECT 1").replace("NOW", NOW).split(";"):
                    await connection.execute(
                        VECTOR if "INTO vectors" in statement and past >= WITHOUT_SIGNS else statement
                    )
        contents = await contents_of(database)
    finally:
        await database.close()  # an open one would keep the tests from ending
    assert all(contents[table] for table in contents if table != "decay"), "every table has rows"
    return contents


WITHOUT_SIGNS = MIGRATIONS.index(SNOWBALL) + 1
VECTOR = "INSERT INTO vectors (row, owner_id, model_id, vector) VALUES (2, 1, 1, x'00')"
GONE = {"signs"}
"""Columns that were derived and are no more."""


async def contents_of(database: Database, like: Contents | None = None) -> Contents:
    """All rows of all tables but the search index's; `like`: as far as that has tables and columns."""
    names = await database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    tables = [row["name"] for row in names if not row["name"].startswith(("search", "sqlite"))]
    contents: Contents = {}
    for table in tables:
        rows = await database.rows(f"SELECT * FROM {table}")  # noqa: S608  # its own tables
        found = [tuple(row[name] for name in row.keys() if name not in GONE) for row in rows]  # noqa: SIM118
        if like is None:
            contents[table] = found
        elif table in like:
            width = len(like[table][0])  # new columns come at the end
            contents[table] = [row[:width] for row in found]
    return contents


@PAST
async def test_an_upgrade_keeps_every_row_and_finds_what_was_said(tmp_path: Path, past: int) -> None:
    before = await lived(tmp_path / "mneme.db", past)
    database = await Database.open(tmp_path / "mneme.db")
    assert await database.version() == len(MIGRATIONS)
    after = await contents_of(database, before)
    assert after == before
    assert (await Search(database).find("hive", "telegram:1"))[0].content == "The hive is in Poltava"
    assert await database.value("PRAGMA integrity_check") == "ok"
    assert await database.rows("PRAGMA foreign_key_check") == []
    await database.close()


@pytest.mark.parametrize("past", range(6, len(MIGRATIONS)))
async def test_an_upgrade_finds_an_episode_by_how_it_ended(tmp_path: Path, past: int) -> None:
    former = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:past])
    async with former.transaction() as connection:
        for number in (1, 2):
            for statement in WRITTEN[number].replace("NOW", NOW).split(";"):
                await connection.execute(statement)
        await connection.execute("UPDATE entries SET kind = 'episode', outcome = 'Caught with a skep'")
        await connection.execute("INSERT INTO search (search) VALUES ('rebuild')")
    await former.close()
    database = await Database.open(tmp_path / "mneme.db")
    found = await Search(database).find("skep", "telegram:1")
    await database.close()
    assert [hit.name for hit in found] == ["berta"]


@PAST
async def test_the_way_back_is_the_copy_that_an_upgrade_leaves(tmp_path: Path, past: int) -> None:
    before = await lived(tmp_path / "mneme.db", past)
    upgraded = await Database.open(tmp_path / "mneme.db")
    await upgraded.close()
    with pytest.raises(StoreError, match="written by a newer Mneme"):
        await Database.open(tmp_path / "mneme.db", MIGRATIONS[:past])
    (tmp_path / f"mneme.db.format-{past}").replace(tmp_path / "mneme.db")
    back = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:past])
    assert await contents_of(back) == before
    await back.close()


@PAST
@pytest.mark.parametrize("broken", [("CREATE TABLE sessions (id TEXT)",), ("DELETE FROM messages", "not SQL at all")])
async def test_an_upgrade_that_fails_leaves_the_database_as_it_was(
    tmp_path: Path, past: int, broken: Migration
) -> None:
    before = await lived(tmp_path / "mneme.db", past)
    with pytest.raises(StoreError):
        # also those migrations are taken back that went well before the one that fails
        await Database.open(tmp_path / "mneme.db", (*MIGRATIONS, broken))
    former = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:past])
    assert await former.version() == past
    assert await contents_of(former) == before
    await former.close()
    upgraded = await Database.open(tmp_path / "mneme.db")
    assert await contents_of(upgraded, before) == before
    await upgraded.close()


async def test_only_the_copy_before_the_last_upgrade_is_kept(tmp_path: Path) -> None:
    await lived(tmp_path / "mneme.db", 3)
    for known in (5, len(MIGRATIONS)):
        database = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:known])
        await database.close()
    assert [path.name for path in tmp_path.glob("*format*")] == ["mneme.db.format-5"]


async def test_a_new_database_and_one_that_is_up_to_date_leave_no_copy(tmp_path: Path) -> None:
    for _ in range(2):
        database = await Database.open(tmp_path / "mneme.db")
        await database.close()
    assert list(tmp_path.glob("*format*")) == []


async def test_without_room_for_the_copy_nothing_is_upgraded(tmp_path: Path) -> None:
    before = await lived(tmp_path / "mneme.db", 3)
    (tmp_path / ".mneme.db.format-3").mkdir()  # where the copy would have to go
    with pytest.raises(StoreError):
        await Database.open(tmp_path / "mneme.db")
    former = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:3])
    assert await contents_of(former) == before
    await former.close()
