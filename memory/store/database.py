"""The SQLite database: one connection for writing, one for reading, short transactions."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import itertools
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import aiosqlite

from config.texts import _
from memory.clock import Clock, now_text, system_clock
from memory.errors import StoreError, explain, explain_empty_file, explained, is_environmental
from memory.store.decay import compute_strength
from memory.store.private import PrivateTalks
from memory.store.private_files import make_private_folder
from memory.store.schema import (
    FIRST_FORMAT,
    INDEXES,
    MIGRATIONS,
    NEWEST_FORMAT,
    Migration,
    explain_unreadable,
    read_schema,
)
from memory.store.scope import has_tags, scope_matches
from memory.store.snapshots import connect_read_only, copy_database, get_litestream_folder
from memory.text.words import format_date_words, prepare_for_index
from memory.turnstile import Turnstile

FUNCTIONS = (
    ("indexable", 1, prepare_for_index),
    ("date_words", 1, format_date_words),
    ("strength", 3, compute_strength),
    ("scope_matches", 2, scope_matches),
    ("has_tags", 2, has_tags),
)
"""SQL functions used by views, triggers and queries: name, number of arguments, implementation.

Every connection registers them, and in addition `present()`, the current time of the database's clock.
"""
BUSY_TIMEOUT_SECONDS = 10.0
"""How long a write waits for another process, such as the command line while the bot runs."""
READ_CACHE_KIB, WRITE_CACHE_KIB = 1_000, 2_000
"""Page cache of the connection that reads, and SQLite's default for the one that writes.

Each commit empties the cache of the connection that reads, so what a larger one holds would hardly be used again: with
5,000 KiB, a search in 100,000 messages takes no less CPU, and the process 3 MB more.
"""
PREPARED_STATEMENTS = 32
"""Statements that each connection keeps prepared. Python's default of 128 takes 3 MB more and saves no CPU."""

REPLICATED_WAL_PAGES = 16_000
"""Size of the write-ahead log (64 MB) at which SQLite checkpoints a database that Litestream replicates.

Litestream checkpoints at a sixteenth of that. If SQLite checkpoints between two of its reads, Litestream misses writes.
With SQLite's default of 1,000 pages, 14 of 40 replicas made under load could not be restored; with this value all were.
"""
MERGED_PAGES_PER_WRITE = 64
MIN_FREE_PAGES, MIN_FREE_SHARE = 1_000, 0.25
"""Number of free pages (4 MB), and their share of the file, from which it counts as much."""
ROWS_PER_FETCH = 64
"""Number of rows that an iteration over a cursor fetches at a time: aiosqlite's default."""
URGENT = "urgent"
"""The name under which writes pass before all others."""

Row = sqlite3.Row
Parameters = tuple[object, ...] | dict[str, object]
Connection = aiosqlite.Connection
"""For modules outside of memory/, which don't import aiosqlite."""


class Database:
    """An open `mneme.db`.

    `transaction` and `write` run one at a time on the writing connection. `rows`, `row` and `value` use a second
    connection, never wait for a write and see the last commit.
    """

    def __init__(self, path: Path, writer: aiosqlite.Connection, reader: aiosqlite.Connection, clock: Clock) -> None:
        self.path = path
        self._clock = clock
        self._writer = writer
        self._reader = reader
        self._turnstile = Turnstile(1)
        self._turnstile.hurry(URGENT)
        self._is_read_only = False
        self.private = PrivateTalks(self)

    async def in_memory(self) -> Database:
        """Create a database in memory with the same schema. Its single connection sees its own writes."""
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
        busy_timeout: float = BUSY_TIMEOUT_SECONDS,
    ) -> Database:
        """Open the database at `path`, creating or migrating it as needed.

        Args:
            busy_timeout: Seconds to wait for a write of another process.

        Raises StoreError if the database is damaged, can't be opened, or has a format that this version can't read.
        """
        connections: list[aiosqlite.Connection] = []
        try:
            await asyncio.to_thread(_make_folder, path)
            async with _opening_alone(path):
                await asyncio.to_thread(_make_private, path)
                connections.append(await _connect(path, clock, busy_timeout, WRITE_CACHE_KIB))
                connections.append(await _connect(path, clock, busy_timeout))
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

    @classmethod
    async def open_for_reading(cls, path: Path, clock: Clock = system_clock) -> Database:
        """Open the database at `path` even if its disk is full or read-only. Writes raise StoreError then.

        Raises StoreError like `open`.
        """
        try:
            return await cls.open(path, clock=clock)
        except StoreError as error:
            if not is_environmental(error):
                raise
            try:
                connection = await _connect(path, clock, read_only=True)
            except sqlite3.Error:
                raise error from None
            database = cls(path, connection, connection, clock)
            if await _read_version(connection) != NEWEST_FORMAT:
                await database.close()
                raise
            database._is_read_only = True
            return database

    async def migrate(self, migrations: Sequence[Migration]) -> None:
        newest = FIRST_FORMAT + len(migrations)
        version = await self.read_version()
        if version == newest:
            return
        if version > 0:
            if (reason := explain_unreadable(str(self.path), version, newest)) is not None:
                raise StoreError(reason)
            # So that the user can go back to the previous version of the program.
            await asyncio.to_thread(_copy_former, self.path, version)
        async with self.transaction() as connection:
            # Read again under the write lock: another process may have migrated since.
            seen = await _read_version(connection)
            steps = (read_schema(), *migrations) if seen == 0 else migrations[seen - FIRST_FORMAT :]
            for statement in itertools.chain.from_iterable(steps):
                await connection.execute(statement)
            await connection.execute(f"PRAGMA user_version = {newest}")

    async def read_version(self) -> int:
        """Return the format of this database, or 0 if it is empty."""
        return int(await self.value("PRAGMA user_version"))

    @contextlib.asynccontextmanager
    async def transaction(self, *, first: bool = False) -> AsyncIterator[aiosqlite.Connection]:
        """Run the block in one transaction. With `first`, it skips the queue of writes."""
        async with self._writing(first=first):
            try:
                await self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                await self._writer.commit()
            except BaseException:
                # Shielded, so that a second cancellation can't leave the transaction open for the next writer.
                await asyncio.shield(self._writer.rollback())
                raise

    async def write(self, sql: str, parameters: Parameters = (), *, first: bool = False) -> int:
        """Execute and commit one statement and return how many rows it changed. `first` is as in `transaction`."""
        async with self._writing(first=first):
            return (await self._writer.execute(sql, parameters)).rowcount

    @contextlib.asynccontextmanager
    async def _writing(self, *, first: bool = False) -> AsyncIterator[None]:
        """Hold the writing connection. Errors of the database itself are raised as StoreError."""
        async with self._turnstile.pass_through(URGENT if first else ""):
            try:
                yield
            except sqlite3.IntegrityError:
                raise  # The caller's data violates a constraint; the database is fine.
            except sqlite3.Error as error:
                raise explain(error, self.path.name) from error

    async def leave_checkpoints(self) -> None:
        """Leave checkpoints to Litestream from now on: see REPLICATED_WAL_PAGES."""
        async with self._writing():
            await self._writer.execute(f"PRAGMA wal_autocheckpoint = {REPLICATED_WAL_PAGES}")

    async def vacuum(self) -> None:
        async with self._writing():
            await self._writer.execute("VACUUM")

    async def has_much_free_space(self) -> bool:
        """Return True if much of the file is free, as after the undo of a large import."""
        free, total = await self.value("PRAGMA freelist_count"), await self.value("PRAGMA page_count")
        return bool(free >= MIN_FREE_PAGES and free >= total * MIN_FREE_SHARE)

    async def scrub(self) -> None:
        """Remove deleted text from the file and its write-ahead log, and delete copies of former formats.

        Raises StoreError if another process is reading, since the write-ahead log can't be emptied then.
        """
        await self.merge_indexes()
        async with self._writing():
            # `secure_delete` overwrites deleted rows, but not the copies that SQLite leaves in a page's free space
            # when it moves rows between pages.
            await self._writer.execute("VACUUM")
            (emptied,) = await self._writer.execute_fetchall("PRAGMA wal_checkpoint(TRUNCATE)")
        await asyncio.to_thread(_remove_former, self.path, lambda _: True)
        if emptied[0]:  # SQLite reports a busy database in the result row instead of an error.
            raise StoreError(
                _(
                    "another program is still using the database, so the deleted text remains in its log: close that"
                    " program and try again."
                )
            )

    async def merge_indexes(self) -> None:
        """Merge the segments of each search index in small writes. Only this removes deleted words from it."""
        for index in INDEXES:
            await self._merge(index)

    async def _merge(self, index: str) -> None:
        # In FTS5 a negative number starts a merge of all segments. A call that changes fewer than two rows had nothing
        # left to do.
        pages = -MERGED_PAGES_PER_WRITE
        changed = 2
        while changed > 1:
            async with self._writing():
                before = self._writer.total_changes
                await self._writer.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
                changed = self._writer.total_changes - before
            pages = MERGED_PAGES_PER_WRITE

    @contextlib.asynccontextmanager
    async def snapshot(self) -> AsyncIterator[aiosqlite.Connection]:
        """Open a connection that always sees the same commit, for long reads during writes."""
        connection = await _connect(self.path, self._clock, read_only=self._is_read_only)
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

    async def value(self, sql: str, parameters: Parameters = ()) -> Any:  # The type depends on the column.
        """Return the first column of the first row, or None if there is no row."""
        row = await self.row(sql, parameters)
        return row[0] if row else None

    async def close(self) -> None:
        """Close all connections. Private talks, which are only in memory, are lost."""
        await self.private.close()
        await self._reader.close()
        await self._writer.close()


async def _read_version(connection: aiosqlite.Connection) -> int:
    (row,) = await connection.execute_fetchall("PRAGMA user_version")
    return int(row[0])


def _make_folder(path: Path) -> None:
    if path.is_dir():
        raise StoreError(f"{path} is a folder: move it away, or set another MNEME_DATA_DIR.")
    make_private_folder(path.parent)


def _make_private(path: Path) -> None:
    """Create the database file, readable only by its owner. Raise StoreError if an empty one exists."""
    if not path.exists():
        # Renamed into place, so that a killed start leaves no empty file, which would look like lost data.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as made:
            new = Path(made.name)
        with contextlib.closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA user_version = 0")
            connection.execute("VACUUM")
        new.rename(path)
    elif path.stat().st_size == 0:
        raise explain_empty_file(path)


def _copy_former(path: Path, version: int) -> None:
    """Copy the database before a migration and delete older copies."""
    copy = path.with_name(f"{path.name}.format-{version}")
    fresh = copy.with_name(f".{copy.name}")
    fresh.unlink(missing_ok=True)  # A killed start may have left it.
    copy_database(path, fresh)
    fresh.replace(copy)
    _remove_former(path, lambda former: former != copy)


def _remove_former(path: Path, unwanted: Callable[[Path], bool]) -> None:
    for former in path.parent.glob(f"{path.name}.format-*"):
        if unwanted(former):
            former.unlink()


@contextlib.asynccontextmanager
async def _opening_alone(path: Path) -> AsyncIterator[None]:
    """Serialize creating and migrating the database among processes that start at the same time."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        await asyncio.to_thread(fcntl.flock, folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


async def _connect(
    path: Path | str,
    clock: Clock,
    busy_timeout: float = BUSY_TIMEOUT_SECONDS,
    cache_kib: int = READ_CACHE_KIB,
    *,
    read_only: bool = False,
) -> aiosqlite.Connection:
    failed: list[Exception] = []

    def connect() -> sqlite3.Connection:
        if read_only:
            connection = connect_read_only(Path(path))
        else:
            connection = sqlite3.connect(
                path, timeout=busy_timeout, isolation_level=None, cached_statements=PREPARED_STATEMENTS
            )
        try:
            _prepare(connection, clock)
            if not read_only:
                _configure(connection, path, cache_kib)
        except Exception as error:  # noqa: BLE001  # Raised below
            failed.append(error)
        return connection

    # `aiosqlite.connect` would need a call to the connection's thread for each step of the preparation.
    connection = await aiosqlite.Connection(connect, ROWS_PER_FETCH)
    if failed:
        # If the first call failed, aiosqlite wouldn't wait for its thread, which may outlive the event loop.
        await connection.close()
        raise failed[0]
    return connection


def _prepare(connection: sqlite3.Connection, clock: Clock) -> None:
    connection.row_factory = sqlite3.Row
    for name, arguments, function in FUNCTIONS:
        connection.create_function(name, arguments, function, deterministic=True)
    # Not declared deterministic: SQLite may cache the result of a deterministic function.
    connection.create_function("present", 0, lambda: now_text(clock))


def _configure(connection: sqlite3.Connection, path: Path | str, cache_kib: int) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",  # A power cut loses no commit.
        "foreign_keys = ON",
        "secure_delete = ON",  # Deleted content is overwritten in the file.
        f"cache_size = -{cache_kib}",
        # Also for the command line, which may open the database while the bot is replicated.
        *((f"wal_autocheckpoint = {REPLICATED_WAL_PAGES}",) if get_litestream_folder(Path(path)).exists() else ()),
    ):
        connection.execute(f"PRAGMA {pragma}")
