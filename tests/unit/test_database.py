"""Tests of the database: migrations, and failures of disk, file or other programs."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.errors import StoreError, explain
from memory.store.database import Database
from memory.store.entry import Kind, Nature, NewEntry
from memory.store.forgotten import read_forgotten_words
from memory.store.index import touching_conversation
from memory.store.integrity import inspect_database
from memory.store.schema import FIRST_FORMAT, MIGRATIONS, NEWEST_FORMAT, Migration
from tests.support.fakes import FakeClock
from tests.support.talk import Store

LINES: tuple[Migration, ...] = (("CREATE TABLE lines (text TEXT NOT NULL)",),)


@pytest.fixture
async def book(tmp_path: Path) -> AsyncIterator[Database]:
    """Open a database with one table, `lines`."""
    opened = await Database.open(tmp_path / "book.db", LINES)
    yield opened
    await opened.close()


async def write(book: Database, *lines: str) -> None:
    async with book.transaction() as connection:
        await connection.executemany("INSERT INTO lines (text) VALUES (?)", [(line,) for line in lines])


async def read_lines(book: Database) -> list[str]:
    return [row["text"] for row in await book.rows("SELECT text FROM lines ORDER BY rowid")]


async def read_schema(database: Database) -> list[tuple[str, str]]:
    rows = await database.rows("SELECT name, sql FROM sqlite_schema ORDER BY name")
    return [(row["name"], row["sql"]) for row in rows]


async def test_migration_keeps_existing_rows(tmp_path: Path) -> None:
    book = await Database.open(tmp_path / "book.db", LINES)
    await write(book, "first")
    await book.close()
    book = await Database.open(tmp_path / "book.db", (*LINES, ("ALTER TABLE lines ADD COLUMN page INTEGER",)))
    assert await read_lines(book) == ["first"]
    await book.close()


async def test_migration_restores_states_archived_by_earlier_versions(tmp_path: Path) -> None:
    former = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:2])
    async with former.transaction() as connection:
        await connection.execute("INSERT INTO owners (name) VALUES ('x')")
        for content, successor in (("Lives in Lviv", None), ("Lives in Kyiv", 1)):
            await connection.execute(
                "INSERT INTO entries (owner_id, kind, content, last_reinforced_at, valid_from, author, created_at,"
                " archived_at, superseded_by) VALUES (1, 'fact', ?, '2026-01-01T00:00:00.000Z', '2026', 'capture',"
                " '2026', '2026', ?)",
                (content, successor),
            )
    await former.close()
    database = await Database.open(tmp_path / "mneme.db")
    rows = await database.rows("SELECT content, archived_at, nature FROM entries ORDER BY id")
    await database.close()
    assert [tuple(row) for row in rows] == [("Lives in Lviv", None, "state"), ("Lives in Kyiv", "2026", "state")]


async def _create_first_release(path: Path) -> None:
    """Create a database of 0.1.0 with a message and memories of two owners."""
    first = await Database.open(path, ())
    async with first.transaction() as connection:
        for owner, text in ((1, "I live in Lviv"), (2, "I keep bees")):
            await connection.execute("INSERT INTO owners (name) VALUES (?)", (f"telegram:{owner}",))
            await connection.execute(
                "INSERT INTO sessions (id, channel, chat_id, owner, created_at, updated_at)"
                " VALUES (?, 'telegram', ?, ?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')",
                (f"telegram:{owner}", owner, f"telegram:{owner}"),
            )
            await connection.execute(
                "INSERT INTO conversations (session_id, owner_id, started_at)"
                " VALUES (?, ?, '2026-01-01T00:00:00.000Z')",
                (f"telegram:{owner}", owner),
            )
            await connection.execute(
                "INSERT INTO turns (conversation_id, outcome, started_at, finished_at)"
                " VALUES (?, 'answered', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')",
                (owner,),
            )
            await connection.execute(
                "INSERT INTO messages (conversation_id, turn_id, role, content, speaker, provenance, created_at)"
                " VALUES (?, ?, 'user', ?, 'Ann', 'typed', '2026-01-01T00:00:00.000Z')",
                (owner, owner, text),
            )
            await connection.execute(
                "INSERT INTO entries (owner_id, kind, content, last_reinforced_at, valid_from, author, created_at,"
                " line, source_message_id)"
                " VALUES (?, 'fact', ?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'capture',"
                " '2026-01-01T00:00:00.000Z', ?, ?)",
                (owner, text, f"- {text}", owner),
            )
            await connection.execute(
                "INSERT INTO names (owner_id, key, entry_id, name, is_alias) VALUES (?, 'home', ?, 'home', 0)",
                (owner, owner),
            )
            await connection.execute("INSERT INTO speakers VALUES (?, 'ann', '5')", (owner,))
    await first.close()


async def test_upgrade_from_first_release_makes_every_memory_a_state(tmp_path: Path, clock: FakeClock) -> None:
    await _create_first_release(tmp_path / "mneme.db")
    database = await Database.open(tmp_path / "mneme.db", clock=clock)
    store = Store.create(database, clock)
    (entry,) = await store.entries.list("telegram:1")
    assert (entry.content, entry.nature, entry.line) == ("I live in Lviv", Nature.STATE, "- I live in Lviv")
    await store.entries.add("telegram:1", NewEntry("Allergic to nuts", kind=Kind.FACT, nature=Nature.VITAL))
    plan = await database.rows(
        "EXPLAIN QUERY PLAN SELECT id FROM entries WHERE owner_id = 1 AND (line IS NOT NULL OR nature = 'vital')"
    )
    await database.close()
    assert "entries_on_page" in str([row["detail"] for row in plan])


async def test_upgrade_from_first_release_allows_forgetting_words(tmp_path: Path, clock: FakeClock) -> None:
    await _create_first_release(tmp_path / "mneme.db")
    database = await Database.open(tmp_path / "mneme.db", clock=clock)
    assert not await read_forgotten_words(database.rows, "telegram:1")
    await Store.create(database, clock).entries.remove("telegram:1", "home")
    words = await read_forgotten_words(database.rows, "telegram:1")
    assert words.forbids("The user lives in Lviv.", "I live in Lviv", None)
    assert not await read_forgotten_words(database.rows, "telegram:2")
    await database.close()


async def test_upgrade_attributes_imported_messages_without_speaker(tmp_path: Path, clock: FakeClock) -> None:
    former = await Database.open(tmp_path / "mneme.db", MIGRATIONS[:5])
    at = "2026-01-01T00:00:00.000Z"
    async with former.transaction() as connection:
        await connection.execute("INSERT INTO owners (name) VALUES ('telegram:1')")
        await connection.execute(
            "INSERT INTO sessions (id, channel, chat_id, owner, created_at, updated_at)"
            " VALUES ('telegram:1', 'telegram', '1', 'telegram:1', ?, ?)",
            (at, at),
        )
        for number, program in enumerate(("Telegram", "ChatGPT"), 1):
            await connection.execute(
                "INSERT INTO conversations (session_id, owner_id, started_at, ended_at) VALUES ('telegram:1', 1, ?, ?)",
                (at, at),
            )
            await connection.execute(
                "INSERT INTO turns (conversation_id, outcome, started_at, finished_at) VALUES (?, 'answered', ?, ?)",
                (number, at, at),
            )
            async with touching_conversation(connection, number):
                await connection.execute(
                    "INSERT INTO messages (conversation_id, turn_id, role, content, provenance, created_at)"
                    " VALUES (?, ?, 'user', 'I keep bees', 'imported', ?)",
                    (number, number, at),
                )
            await connection.execute(
                "INSERT INTO imported (owner_id, program, source_id, entry_id, conversation_id, messages, digest)"
                " VALUES (1, ?, '7/0', 1, ?, 1, '')",
                (program, number),
            )
    await former.close()
    database = await Database.open(tmp_path / "mneme.db", clock=clock)
    rows = await database.rows("SELECT speaker, source_id FROM messages ORDER BY id")
    assert [tuple(row) for row in rows] == [("Deleted account", None), (None, None)]
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    await database.close()


async def test_upgraded_schema_equals_the_schema_of_a_new_database(tmp_path: Path) -> None:
    await _create_first_release(tmp_path / "old.db")
    upgraded, new = await Database.open(tmp_path / "old.db"), await Database.open(tmp_path / "new.db")
    assert await read_schema(upgraded) == await read_schema(new)
    assert await upgraded.value("SELECT name FROM speakers WHERE owner_id = 1") is None
    for database in (upgraded, new):
        await database.close()


async def test_failed_migration_leaves_the_former_version(tmp_path: Path) -> None:
    book = await Database.open(tmp_path / "book.db", LINES)
    await write(book, "first")
    await book.close()
    broken = ("CREATE TABLE pages (number INTEGER)", "DELETE FROM lines", "CREATE TABLE lines (text TEXT)")
    with pytest.raises(StoreError, match="already exists"):
        await Database.open(tmp_path / "book.db", (*LINES, broken))
    book = await Database.open(tmp_path / "book.db", LINES)
    assert await book.read_version() == FIRST_FORMAT + 1
    assert await book.value("SELECT count(*) FROM sqlite_schema WHERE name = 'pages'") == 0
    assert await read_lines(book) == ["first"]
    await book.close()


async def test_upgrade_leaves_a_copy_for_the_way_back(tmp_path: Path) -> None:
    book = await Database.open(tmp_path / "book.db", LINES)
    await write(book, "first")
    await book.close()
    steps = [*LINES, ("DELETE FROM lines",), ("CREATE TABLE pages (number INTEGER)",)]
    for known in (2, 3):
        book = await Database.open(tmp_path / "book.db", steps[:known])
        assert await read_lines(book) == []
        await book.close()
    # Only the copy from before the last upgrade remains.
    assert [path.name for path in tmp_path.glob("*format*")] == [f"book.db.format-{FIRST_FORMAT + 2}"]
    with pytest.raises(StoreError, match="written by a newer Mneme"):
        await Database.open(tmp_path / "book.db", steps[:2])
    (tmp_path / f"book.db.format-{FIRST_FORMAT + 2}").replace(tmp_path / "book.db")
    book = await Database.open(tmp_path / "book.db", steps[:2])
    await book.close()


async def test_new_or_current_database_leaves_no_copy(tmp_path: Path) -> None:
    for _ in range(2):
        book = await Database.open(tmp_path / "book.db")
        await book.close()
    assert list(tmp_path.glob("*format*")) == []


async def test_upgrade_without_room_for_the_copy_is_refused(tmp_path: Path) -> None:
    book = await Database.open(tmp_path / "book.db", LINES)
    await write(book, "first")
    await book.close()
    (tmp_path / f".book.db.format-{FIRST_FORMAT + 1}").mkdir()  # Blocks the path of the copy.
    with pytest.raises(StoreError):
        await Database.open(tmp_path / "book.db", (*LINES, ("DELETE FROM lines",)))
    book = await Database.open(tmp_path / "book.db", LINES)
    assert await read_lines(book) == ["first"]
    await book.close()


@pytest.mark.parametrize("version", [1, FIRST_FORMAT - 1])
async def test_database_before_the_first_format_is_refused_with_instructions(tmp_path: Path, version: int) -> None:
    with closing(sqlite3.connect(tmp_path / "mneme.db")) as early:
        early.execute("CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT)")
        early.execute(f"PRAGMA user_version = {version}")
    with pytest.raises(StoreError, match=r"export DIR` of that version and `mneme import DIR` of this one") as refused:
        await Database.open(tmp_path / "mneme.db")
    assert "\n" not in str(refused.value)
    with closing(sqlite3.connect(tmp_path / "mneme.db")) as early:
        assert early.execute("PRAGMA user_version").fetchone() == (version,)
        assert early.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall() == [("owners",)]
    assert str(inspect_database(tmp_path / "mneme.db").trouble) == str(refused.value)


async def test_concurrent_opens_migrate_once(tmp_path: Path) -> None:
    opened = await asyncio.gather(*(Database.open(tmp_path / "data" / "mneme.db") for _ in range(6)))
    assert [await database.read_version() for database in opened] == [NEWEST_FORMAT] * 6
    for database in opened:
        await database.close()


async def test_database_of_a_newer_version_is_refused_unchanged(tmp_path: Path) -> None:
    newer = await Database.open(tmp_path / "book.db", (*LINES, ("CREATE TABLE pages (number INTEGER)",)))
    await newer.close()
    with pytest.raises(StoreError) as refused:
        await Database.open(tmp_path / "book.db", LINES)
    assert f"newer Mneme (format {FIRST_FORMAT + 2}, this one knows {FIRST_FORMAT + 1}): upgrade" in str(refused.value)
    assert "\n" not in str(refused.value)
    newer = await Database.open(tmp_path / "book.db", (*LINES, ("CREATE TABLE pages (number INTEGER)",)))
    assert await newer.read_version() == FIRST_FORMAT + 2
    await newer.close()


async def test_file_that_is_no_database_is_reported_damaged_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "mneme.db"
    path.write_bytes(b"This is a letter, not a database. " * 200)
    with pytest.raises(StoreError, match=r"mneme\.db is damaged: restore a backup"):
        await Database.open(path)
    assert path.read_bytes() == b"This is a letter, not a database. " * 200


async def test_damage_found_while_reading_is_reported_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    book = await Database.open(path, LINES)
    await write(book, *("a long line " * 50 for _ in range(100)))
    await book.close()
    whole = path.read_bytes()
    at = len(whole) - 10 * 4096  # Hits the lines, which were written last.
    path.write_bytes(whole[:at] + b"\xff" * (len(whole) - at))
    book = await Database.open(path, LINES)
    with pytest.raises(StoreError, match="is damaged: restore a backup"):
        await read_lines(book)
    await book.close()


@pytest.mark.parametrize("words", ["malformed JSON", "the bucket is full", "readonly", "locked", "disk I/O"])
async def test_explain_without_error_code_reports_no_damage(words: str) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE lines (text TEXT)")
        connection.execute(f"CREATE TRIGGER refused INSERT ON lines BEGIN SELECT RAISE (FAIL, '{words}'); END")
        with pytest.raises(sqlite3.Error) as refused:
            connection.execute("INSERT INTO lines VALUES ('')")
        with pytest.raises(sqlite3.Error) as no_json:
            connection.execute("SELECT json_extract('- a list', '$.row')")
    for error in (refused.value, no_json.value):
        assert str(explain(error, "mneme.db")).startswith("Database error in mneme.db: ")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (sqlite3.SQLITE_CORRUPT, "is damaged"),
        (sqlite3.SQLITE_CORRUPT_VTAB, "is damaged"),
        (sqlite3.SQLITE_NOTADB, "is damaged"),
        (sqlite3.SQLITE_FULL, "is full"),
        (sqlite3.SQLITE_IOERR_WRITE, "can't be read or written"),
        (sqlite3.SQLITE_READONLY_DIRECTORY, "can't be written"),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, "can't be written"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "in use"),
        (sqlite3.SQLITE_LOCKED_SHAREDCACHE, "in use"),
    ],
)
def test_explain_of_extended_code_returns_its_sentence(code: int, said: str) -> None:
    error = sqlite3.OperationalError("whatever it says")
    error.sqlite_errorcode = code
    assert said in str(explain(error, "mneme.db"))


async def test_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "mneme.db").mkdir()
    with pytest.raises(StoreError, match=r"mneme\.db is a folder: .*another MNEME_DATA_DIR"):
        await Database.open(tmp_path / "mneme.db")


async def test_data_folder_that_can_not_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match=r"/data can't be used: "):
        await Database.open(tmp_path / "data" / "mneme.db")


async def test_unwritable_file_is_named(tmp_path: Path, book: Database) -> None:
    async with book.transaction() as connection:
        await connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match=r"book\.db can't be written: check the owner and permissions"):
        await write(book, "nothing")


async def test_full_disk_keeps_all_saved_rows(tmp_path: Path, book: Database) -> None:
    await write(book, "saved")
    async with book.transaction() as connection:
        await connection.execute("PRAGMA max_page_count = 1")  # SQLite raises this to the present size.
    with pytest.raises(StoreError, match=r"is full: free some space\. Nothing that was saved is lost"):
        await write(book, "small", "x" * 100_000)
    assert await read_lines(book) == ["saved"]
    async with book.transaction() as connection:
        await connection.execute("PRAGMA max_page_count = 100000")
    await write(book, "after space was made")
    assert await read_lines(book) == ["saved", "after space was made"]


async def test_cancelled_transaction_writes_nothing_and_releases_the_lock(book: Database) -> None:
    halfway = asyncio.Event()

    async def never_finishes() -> None:
        async with book.transaction() as connection:
            await connection.execute("INSERT INTO lines VALUES ('half')")
            halfway.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(never_finishes())
    await halfway.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await write(book, "whole")
    assert await read_lines(book) == ["whole"]


@pytest.mark.parametrize("steps", range(12))
async def test_transaction_cancelled_at_any_step_is_atomic(book: Database, steps: int) -> None:
    task = asyncio.create_task(write(book, "one", "two"))
    for _ in range(steps):
        await asyncio.wait([task], timeout=0)
    task.cancel()
    await asyncio.wait([task], timeout=0)
    task.cancel()  # A second time, while the first cancellation is being cleaned up.
    await asyncio.wait([task])
    assert await read_lines(book) in ([], ["one", "two"])
    await asyncio.wait_for(write(book, "next"), 5)
    assert (await read_lines(book))[-1] == "next"


async def test_error_inside_a_transaction_rolls_it_back(book: Database) -> None:
    async def fails_halfway() -> None:
        async with book.transaction() as connection:
            await connection.execute("INSERT INTO lines VALUES ('half')")
            raise LookupError("a page is missing")

    with pytest.raises(LookupError):
        await fails_halfway()
    assert await read_lines(book) == []


async def test_concurrent_writers_lose_nothing(book: Database) -> None:
    await asyncio.gather(*(write(book, f"{n} begins", f"{n} ends") for n in range(20)))
    lines = await read_lines(book)
    assert sorted(lines) == sorted(f"{n} {what}" for n in range(20) for what in ("begins", "ends"))
    assert [a.split()[0] for a in lines[::2]] == [b.split()[0] for b in lines[1::2]]


async def test_write_returns_the_row_count_or_raises(book: Database) -> None:
    await write(book, "a", "b")
    assert await book.write("UPDATE lines SET text = text || '!'") == 2
    assert await book.write("DELETE FROM lines WHERE text = ?", ("c",)) == 0
    with pytest.raises(sqlite3.IntegrityError):  # The caller's data is wrong, so this is no StoreError.
        await book.write("INSERT INTO lines (text) VALUES (NULL)")
    with pytest.raises(StoreError):
        await book.write("INSERT INTO nothing VALUES (1)")
    assert await read_lines(book) == ["a!", "b!"]


async def test_write_with_priority_precedes_waiting_writes(book: Database) -> None:
    async with book.transaction() as connection:
        await connection.execute("INSERT INTO lines (text) VALUES ('now')")
        later = [asyncio.create_task(write(book, f"later {number}")) for number in range(3)]
        await asyncio.sleep(0)
        first = asyncio.create_task(book.write("INSERT INTO lines (text) VALUES ('first')", first=True))
        await asyncio.sleep(0)
    await asyncio.gather(*later, first)
    assert await read_lines(book) == ["now", "first", "later 0", "later 1", "later 2"]


async def test_readers_see_committed_rows_and_never_wait(book: Database) -> None:
    await write(book, "committed")
    async with book.transaction() as connection:
        await connection.execute("INSERT INTO lines VALUES ('not yet')")
        assert await read_lines(book) == ["committed"]
    assert await read_lines(book) == ["committed", "not yet"]


async def test_write_waits_for_another_program(book: Database) -> None:
    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO lines VALUES ('from the other')")
        writing = asyncio.create_task(write(book, "from this one"))
        await asyncio.wait([writing], timeout=0.1)
        assert not writing.done()
        other.execute("COMMIT")
        await writing
    assert await read_lines(book) == ["from the other", "from this one"]


async def test_database_kept_busy_by_another_program_is_reported(book: Database) -> None:
    async with book.transaction() as connection:
        await connection.execute("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(book.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"book\.db is in use by another program"):
            await write(book, "too early")
    await write(book, "now")
    assert await read_lines(book) == ["now"]


async def test_file_and_new_folder_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "mneme.db"
    database = await Database.open(path)
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM usage")
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {
        "mneme.db": 0o600,
        "mneme.db-wal": 0o600,
        "mneme.db-shm": 0o600,
    }
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await database.close()


async def test_text_with_any_characters_is_stored(book: Database) -> None:
    odd = "'; DROP TABLE lines; -- \x00 \U0001f600 \u2028"
    await write(book, odd)
    assert await read_lines(book) == [odd]


async def test_foreign_keys_of_deleted_rows_have_an_index(database: Database) -> None:
    for table, column in (("outbox", "turn_id"), ("messages", "turn_id"), ("names", "entry_id")):
        plan = await database.rows(f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = 1")  # noqa: S608  # Constants.
        assert [row["detail"].split()[0] for row in plan] == ["SEARCH"], table


async def test_both_page_caches_together_stay_small(database: Database) -> None:
    """The caches are the only part of the process that grows with the store."""
    reading = await database.value("PRAGMA cache_size")
    async with database.transaction() as connection:
        (writing,) = await connection.execute_fetchall("PRAGMA cache_size")
    assert -10_000 <= reading + writing[0] < 0  # Negative values are in KiB.
