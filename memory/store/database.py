"""The one SQLite file: one writer, a reader that never waits for it, short transactions."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiosqlite

from config.texts import _
from memory.clock import now_text, system_clock
from memory.errors import StoreError, empty, explain, explained
from memory.store.decay import decayed_score
from memory.store.private import PrivateTalks
from memory.store.schema import FIRST_FORMAT, INDEXES, MIGRATIONS, Migration, schema, unreadable
from memory.store.scope import has_tags, scope_matches
from memory.store.snapshots import copy_database, local_state
from memory.text.words import date_words, indexable
from memory.turnstile import Turnstile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from memory.clock import Clock

FUNCTIONS = (
    ("indexable", 1, indexable),
    ("date_words", 1, date_words),
    ("strength", 3, decayed_score),
    ("scope_matches", 2, scope_matches),
    ("has_tags", 2, has_tags),
)
"""What views, triggers and queries call, by name and number of arguments; every connection needs them.

Beside these there is `present()`, the moment on the clock that the database was opened with.
"""
BUSY_TIMEOUT = 10.0
"""Seconds to wait as a rule for another process (the command line beside the bot) that is writing."""
READ_CACHE_KIB, WRITE_CACHE_KIB = 8_000, 2_000
"""Pages that the two connections keep, all that the process grows by with the store.

With 16,000 KiB each it grew from 105 to 120 MB within 200 turns on a store of 24,000 messages (38 MB), with 4,000 each
from 93 to 104 MB, in the same time. SQLite's own 2,000 are soon too few for a search among 100,000 entries; a write
touches few pages.
"""

REPLICATED_PAGES = 16_000
"""Pages of the write-ahead log (64 MB) from which on we checkpoint ourselves where Litestream replicates the database.

It checkpoints at a sixteenth of that. A checkpoint of ours between two of its looks would have it miss what was
written: of 40 replicas under load 14 could not be restored with SQLite's own 1,000 pages, none with these.
"""
MERGED_PAGES = 64
"""Of the search index that are merged in one write."""
FIRST = "first"
"""Who is always in a hurry at the turnstile of the writer."""

Row = sqlite3.Row
Parameters = tuple[object, ...] | dict[str, object]


class Database:
    """An open `mneme.db`.

    Writing goes through `transaction` and `write`, one at a time. Reading goes through `rows` and `row` on a
    connection of its own and sees what was last committed.
    """

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._reader = reader
        self._turnstile = Turnstile(1)
        self._turnstile.hurry(FIRST)
        self.private = PrivateTalks(self)

    async def in_memory(self) -> Database:
        """A new database of the same schema that no file holds. It has one connection, which sees its own writes."""
        connection = await _connect(":memory:", self._clock)
        database = Database(self.path, connection, connection, self._clock)
        await database.migrate(MIGRATIONS)
        return database

    @classmethod
    async def open(
        cls,
        path: Path,
        migrations: Sequence[Migration] = MIGRATIONS,
        clock: Clock = system_clock,
        patience: float = BUSY_TIMEOUT,
    ) -> Database:
        """Open the database at `path`, make it if it is not there, and bring it up to date.

        patience: seconds to wait for another process that is writing.

        Raises StoreError for a database that this program is too old or too new for, damaged or out of reach.
        """
        connections: list[aiosqlite.Connection] = []
        try:
            await asyncio.to_thread(_make_folder, path)
            async with _opening_alone(path):
                await asyncio.to_thread(_make_private, path)
                connections.append(await _connect(path, clock, patience, WRITE_CACHE_KIB))
                connections.append(await _connect(path, clock, patience))
                database = cls(path, connections[0], connections[1], clock)
                await database.migrate(migrations)
        except BaseException as error:
            for connection in connections:
                await connection.close()
            if isinstance(error, sqlite3.Error):
                raise explain(error, path) from error
            if isinstance(error, OSError):
                raise StoreError(f"{path.parent} can't be used: {error.strerror or error}.") from error
            raise
        return database

    async def migrate(self, migrations: Sequence[Migration]) -> None:
        """Bring the database to the newest format, or leave it as it is."""
        newest = FIRST_FORMAT + len(migrations)
        version = await self.version()
        if version == newest:
            return
        if version > 0:
            if (reason := unreadable(str(self.path), version, newest)) is not None:
                raise StoreError(reason)
            # for a way back to the former program
            await asyncio.to_thread(_keep_former, self.path, version)
        async with self.transaction() as connection:
            # asked again under the write lock: another program that started now may have been first
            seen = await _version(connection)
            steps = (schema(), *migrations) if seen == 0 else migrations[seen - FIRST_FORMAT :]
            for statement in itertools.chain.from_iterable(steps):
                await connection.execute(statement)
            await connection.execute(f"PRAGMA user_version = {newest}")

    async def version(self) -> int:
        """The format that this database has; 0: it is empty."""
        return int(await self.value("PRAGMA user_version"))

    @contextlib.asynccontextmanager
    async def transaction(self, *, first: bool = False) -> AsyncIterator[aiosqlite.Connection]:
        """One write, committed at the end of the block or not at all. first: before other writes that wait."""
        async with self._writing(first=first):
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                await self._writer.commit()
            except BaseException:
                # shielded: a second cancellation must not leave the transaction open for the next writer
                await asyncio.shield(self._writer.rollback())
                raise

    async def write(self, sql: str, parameters: Parameters = (), *, first: bool = False) -> int:
        """One statement, committed by itself; how many rows it changed. first: as in `transaction`."""
        async with self._writing(first=first):
            return (await self._writer.execute(sql, parameters)).rowcount

    @contextlib.asynccontextmanager
    async def _writing(self, *, first: bool = False) -> AsyncIterator[None]:
        """Hold the writer alone; errors of the database itself are raised as StoreError."""
        async with self._turnstile.passed(FIRST if first else ""):
            try:
                yield
            except sqlite3.IntegrityError:
                raise  # it says something of the caller's data, and not of the database
            except sqlite3.Error as error:
                raise explain(error, self.path.name) from error

    async def leave_checkpoints(self) -> None:
        """Leave checkpoints to Litestream from now on: see REPLICATED_PAGES."""
        async with self._writing():
            await self._writer.execute(f"PRAGMA wal_autocheckpoint = {REPLICATED_PAGES}")

    async def vacuum(self) -> None:
        async with self._writing():
            await self._writer.execute("VACUUM")

    async def scrub(self) -> None:
        """Leave nothing of what was deleted in the file, in its write-ahead log, and in the copy of a former format.

        Raises StoreError where another program reads what was, so that the log can't be emptied.
        """
        await self.merge_indexes()
        async with self._writing():
            # `secure_delete` overwrites a row where it stands, and not the copies that SQLite leaves in a page's free
            # space when it moves rows from page to page
            await self._writer.execute("VACUUM")
            (emptied,) = await self._writer.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        await asyncio.to_thread(_remove_former, self.path, lambda _: True)
        if emptied[0]:  # SQLite says so in its answer only
            raise StoreError(
                _(
                    "another program still reads the database, whose log keeps the words till then: end it and try"
                    " again."
                )
            )

    async def merge_indexes(self) -> None:
        """Merge the segments of each search index into one, slice by slice: only that removes deleted words from it."""
        for index in INDEXES:
            await self._merge(index)

    async def _merge(self, index: str) -> None:
        # as FTS5 has it, a negative number begins a merge of all segments, and one that changes fewer than two rows
        # found nothing left to do
        pages = -MERGED_PAGES
        changed = 2
        while changed > 1:
            async with self._writing():
                before = self._writer.total_changes
                await self._writer.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
                changed = self._writer.total_changes - before
            pages = MERGED_PAGES

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[aiosqlite.Connection]:
        """One unchanging view of what is committed, for reading much while others write."""
        connection = await _connect(self.path, self._clock)
        try:
            with explained(self.path.name):
                await connection.execute("BEGIN")
                yield connection
        finally:
            await connection.close()

    async def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        with explained(self.path.name):
            return list(await self._reader.execute_fetchall(sql, parameters))

    async def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        rows = await self.rows(sql, parameters)
        return rows[0] if rows else None

    async def value(self, sql: str, parameters: Parameters = ()) -> Any:  # whatever the column holds
        """The first column of the first row that `sql` selects; None without a row."""
        row = await self.row(sql, parameters)
        return row[0] if row else None

    async def close(self) -> None:
        """Close all connections; private talks, which are held in memory, are gone."""
        await self.private.close()
        await self._reader.close()
        await self._writer.close()


async def _version(connection: aiosqlite.Connection) -> int:
    (row,) = await connection.execute_fetchall("PRAGMA user_version")
    return int(row[0])


def _make_folder(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder: move it away, or set another MNEME_DATA_DIR.")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def _make_private(path: Path) -> None:
    """Make the file before SQLite does, readable for its owner only. One that is there must hold something."""
    if not path.exists():
        # whole at once: a start that is killed meanwhile must not leave what looks like a memory that was lost
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as made:
            new = Path(made.name)
        with contextlib.closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA user_version = 0")
            connection.execute("VACUUM")
        new.rename(path)
    elif path.stat().st_size == 0:
        raise empty(path)


def _keep_former(path: Path, version: int) -> None:
    """Copy a database before its format changes; only the newest such copy is kept."""
    copy = path.with_name(f"{path.name}.format-{version}")
    fresh = copy.with_name(f".{copy.name}")
    fresh.unlink(missing_ok=True)  # a start that was killed may have left it
    copy_database(path, fresh)
    fresh.replace(copy)
    _remove_former(path, lambda former: former != copy)


def _remove_former(path: Path, unwanted: Callable[[Path], bool]) -> None:
    for former in path.parent.glob(f"{path.name}.format-*"):
        if unwanted(former):
            former.unlink()


@contextlib.asynccontextmanager
async def _opening_alone(path: Path) -> AsyncIterator[None]:
    """Let processes that start at the same moment make or migrate the database one after the other."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        await asyncio.to_thread(fcntl.flock, folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


async def _connect(
    path: Path | str, clock: Clock, patience: float = BUSY_TIMEOUT, cache_kib: int = READ_CACHE_KIB
) -> aiosqlite.Connection:
    connection = await aiosqlite.connect(path, timeout=patience, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        for name, arguments, function in FUNCTIONS:
            await connection.create_function(name, arguments, function, deterministic=True)
        # not deterministic like the others: SQLite may keep the result of such a function, and the clock goes on
        await connection.create_function("present", 0, lambda: now_text(clock))
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",  # what was committed is on disk: a power cut loses nothing that was confirmed
            "foreign_keys = ON",
            "secure_delete = ON",  # what is deleted is overwritten: forgetting means that it is gone from the file
            f"cache_size = -{cache_kib}",
            # the command line must not checkpoint either what Litestream replicates for the bot
            *((f"wal_autocheckpoint = {REPLICATED_PAGES}",) if local_state(Path(path)).exists() else ()),
        ):
            await connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        await connection.close()
        raise
    return connection
