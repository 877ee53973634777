"""Tests of damaged databases: detected at the start, and derived tables repaired."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from typer.testing import CliRunner

from bot.cli.main import cli
from memory.errors import StoreError
from memory.store import integrity
from memory.store.database import Database
from memory.store.integrity import LOOSE, find_damaged_tables, inspect_database
from memory.store.schema import INDEXES
from tests.conftest import OpenApp
from tests.support.damage import spoil
from tests.support.fakes import Person

TABLES = ("inbox", "outbox", "sessions", "conversations", "messages", "turns", "entries", "changes", "usage", "notices")


async def create_database(start: OpenApp, tmp_path: Path) -> Path:
    """Create a database with some conversation and an empty write-ahead log."""
    async with start() as app:
        person = Person(app)
        await person.says("/remember the boat is called Aurora")
        await person.says("We sailed to Hydra")
        await app.database.write(
            "INSERT INTO media (owner_id, session_id, kind, channel, file_id, unique_id, created_at)"
            " SELECT 1, id, 'document', 'console', 'a', 'a', created_at FROM sessions LIMIT 1"
        )
        await app.database.write(
            "INSERT INTO media_parts (media_id, owner_id, number, label, content)"
            " VALUES (1, 1, 1, 'page 1', 'The lighthouse keeper has a cat')"
        )
    path = tmp_path / "data" / "mneme.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.mark.parametrize("table", TABLES)
async def test_damage_in_any_table_is_reported_at_the_start(start: OpenApp, tmp_path: Path, table: str) -> None:
    spoil(await create_database(start, tmp_path), table)
    with pytest.raises(StoreError, match=r"mneme\.db is damaged.*restore a backup"):
        async with start():
            pass


async def test_index_with_damaged_words_is_rebuilt_at_the_start(start: OpenApp, tmp_path: Path) -> None:
    path = await create_database(start, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE search_data SET block = x'00ff00ff' WHERE id > 10")
        connection.commit()
    async with start() as app:
        assert "Aurora" in await Person(app).says("/recall boat")


async def test_large_database_is_checked_in_the_background(
    start: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "MAX_QUICK_CHECK_BYTES", 0)
    spoil(await create_database(start, tmp_path), "notices")
    with capture_logs() as logs:
        async with start() as app, asyncio.timeout(20):
            app.start_background_work()
            while not (said := [entry for entry in logs if entry["event"] == "database_damaged"]):
                await app.database.value("SELECT 1")
    assert "notices" in said[0]["reason"]


async def assert_search_works(person: Person) -> None:
    assert "Aurora" in await person.says("/recall boat")
    assert "Hydra" in await person.says("/recall sailed")
    await person.says("/remember the gate is green")
    assert "green" in await person.says("/recall gate")


@pytest.mark.parametrize(
    "table",
    ["search_data", "search_idx", "search_docsize", "search_config", "search_parts_data", "vectors", "endpoints"],
)
async def test_damaged_derived_tables_are_rebuilt_at_the_start(start: OpenApp, tmp_path: Path, table: str) -> None:
    path = await create_database(start, tmp_path)
    spoil(path, table)
    with capture_logs() as logs:
        async with start() as app:
            await assert_search_works(Person(app))
    assert {"index_damaged", "derived_tables_damaged"} & {entry["event"] for entry in logs}
    assert find_damaged_tables(path) == []
    # The repair is complete.
    async with start() as app:
        assert "Aurora" in await Person(app).says("/recall boat")


RECORDS = (
    *(f"DROP TABLE {{index}}_{end}" for end in ("data", "idx", "docsize", "config")),
    *(f"DELETE FROM {{index}}_{end}" for end in ("data", "idx", "docsize", "config")),  # noqa: S608  # Constants.
    "DELETE FROM {index}_data WHERE id = 1",
    "DELETE FROM {index}_data WHERE id = 10",
    "DELETE FROM {index}_data WHERE id > 10",
    "UPDATE {index}_data SET block = x'a5a5a5a5a5' WHERE id = 1",
    "UPDATE {index}_data SET block = x'a5a5a5a5a5' WHERE id = 10",
    "UPDATE {index}_data SET block = x'a5a5a5a5a5' WHERE id > 10",
    "UPDATE {index}_data SET block = 'text'",
    "UPDATE {index}_idx SET pgno = 999999",
    "UPDATE {index}_docsize SET sz = x'a5ff'",
    "UPDATE {index}_docsize SET sz = 'text'",
    "UPDATE {index}_config SET v = 99",
    "DELETE FROM sqlite_schema WHERE name = '{index}'",
)


@pytest.mark.slow
@pytest.mark.parametrize("statement", RECORDS)
@pytest.mark.parametrize("index", INDEXES)
async def test_start_with_damaged_index_record_rebuilds_the_index(
    start: OpenApp, tmp_path: Path, index: str, statement: str
) -> None:
    path = await create_database(start, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(statement.format(index=index))
        connection.commit()
    assert inspect_database(path).index_matches is False
    with capture_logs() as logs:
        async with start() as app:
            await assert_search_works(Person(app))
    assert "index_damaged" in {entry["event"] for entry in logs}
    assert find_damaged_tables(path) == []
    assert inspect_database(path).index_matches
    # The repair is complete.
    with capture_logs() as logs:
        async with start() as app:
            assert "Aurora" in await Person(app).says("/recall boat")
    assert "index_damaged" not in {entry["event"] for entry in logs}


async def test_pages_without_a_table_do_not_prevent_a_start(start: OpenApp, tmp_path: Path) -> None:
    """A kill leaves such pages between the new index and the end of the repair."""
    path = await create_database(start, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE tbl_name = 'published'")
        connection.commit()
    assert find_damaged_tables(path) == [LOOSE]
    async with start() as app:
        assert "Aurora" in await Person(app).says("/recall boat")
    assert find_damaged_tables(path) == []


async def test_reindex_repairs_a_damaged_index(start: OpenApp, tmp_path: Path) -> None:
    path = await create_database(start, tmp_path)
    for table in ("search_data", "search_idx"):
        spoil(path, table)
    done = await asyncio.to_thread(CliRunner().invoke, cli, ["reindex"])
    assert (done.exit_code, done.stdout) == (0, "The search index was rebuilt.\n")
    assert find_damaged_tables(path) == []
    recall = await asyncio.to_thread(CliRunner().invoke, cli, ["recall", "boat"])
    assert "Aurora" in recall.stdout


async def test_start_with_damaged_entries_recommends_restore(start: OpenApp, tmp_path: Path) -> None:
    spoil(await create_database(start, tmp_path), "entries")
    with pytest.raises(StoreError, match=r"^[^\n]*entries[^\n]*restore a backup with `mneme restore`[^\n]*$"):
        async with start():
            pass


async def test_damaged_database_without_a_backup_can_be_moved_away(start: OpenApp, tmp_path: Path) -> None:
    path = await create_database(start, tmp_path)
    async with start() as app:
        page = app.memory.files.long_term_path("console:local")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("- The boat is called Aurora\n")
    spoil(path, "entries")
    with pytest.raises(StoreError, match="Without a backup, move the file away and start again"):
        async with start():
            pass
    path.rename(tmp_path / "damaged.db")
    async with start() as app:
        assert "MEMORY.md: 1" in await Person(app).says("/memory")


@pytest.mark.parametrize(
    ("at", "with_"),
    [
        (0, b"\xa5" * 100),
        (0, b"\x00" * 100),
        (0, b"Not SQLite."),
        (16, b"\x00\x07"),
        (18, b"\x09"),
        (19, b"\x09"),
        (44, b"\xff" * 4),
        (56, b"\xff" * 4),
        (60, b"\x7f\xff\xff\xff"),
        (100, b"\xa5" * 8),
    ],
)
async def test_damaged_header_is_reported_in_one_sentence(
    start: OpenApp, tmp_path: Path, at: int, with_: bytes
) -> None:
    path = await create_database(start, tmp_path)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(with_)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"^[^\n]*mneme\.db[^\n]*$"):
        async with start():
            pass
    assert path.read_bytes() == before


async def test_empty_database_file_is_reported_and_not_replaced(start: OpenApp, tmp_path: Path) -> None:
    path = await create_database(start, tmp_path)
    path.write_bytes(b"")
    with pytest.raises(StoreError, match=r"^[^\n]*is empty: [^\n]*backup with `mneme restore`[^\n]*$"):
        async with start():
            pass
    assert path.stat().st_size == 0
    state = inspect_database(path)
    assert "is empty" in str(state.trouble)


async def test_first_start_that_is_killed_leaves_no_empty_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await Database.open(tmp_path / "data" / "mneme.db", (("no SQL",),))
    database = await Database.open(tmp_path / "data" / "mneme.db")
    await database.close()
