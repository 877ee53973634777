"""Consistent copies of a database that is in use, and functions that read and check such copies."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from memory.errors import StoreError, explain_damage, explained, get_result_code

LOCK_TIMEOUT_SECONDS = 10


def copy_database(source: Path, target: Path) -> None:
    """Copy the last commit of a database into a new file that only its owner can read. Raises StoreError."""
    try:
        target.touch(mode=0o600, exist_ok=False)
        with _opened(target) as there, _opened(source, for_reading=True) as here:
            here.backup(there)  # All pages in one step, so that no commit comes in between.
            there.execute("PRAGMA journal_mode = DELETE")
        sync_to_disk(target)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreError(f"{target} can't be written: {error.strerror or error}.") from error
        raise


def require_sound(path: Path) -> None:
    """Raise StoreError if SQLite finds the database damaged."""
    with _opened(path) as connection:
        verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict != "ok":
        raise explain_damage(path, verdict)


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a database without changing any file, even in a read-only folder or on a full disk. Raises sqlite3.Error."""
    try:
        return _connect_to(path, "mode=ro")
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # SQLite can't create the files that readers share. So no process can be writing either.
        return _connect_to(path, "immutable=1")


def _connect_to(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=LOCK_TIMEOUT_SECONDS
    )
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def get_litestream_folder(database: Path) -> Path:
    """Return the folder in which Litestream stores data to send, next to a database that it replicates."""
    return database.with_name(f".{database.name}-litestream")


def count_rows(path: Path, tables: Iterable[str]) -> dict[str, int]:
    with _opened(path) as connection:
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        present = [table for table in tables if table in there]
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in present}


def read_file_copies(path: Path) -> Iterator[tuple[str, bytes, int]]:
    """Yield the name, content and modification time in nanoseconds of each file copy in a database."""
    with _opened(path) as connection:
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'file_copies'").fetchone():
            yield from connection.execute("SELECT path, content, changed FROM file_copies")


def read_format(path: Path) -> int:
    with _opened(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def merge_write_ahead_log(path: Path) -> None:
    """Merge the write-ahead log into the database file. Raise StoreError if another process has the database open."""
    try:
        with _opened(path) as connection:
            connection.execute("PRAGMA busy_timeout = 0")
            # Leaving WAL mode removes the log and requires exclusive access.
            connection.execute("PRAGMA journal_mode = DELETE")
    except StoreError as error:
        if get_result_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreError(f"{path} is open in another program, such as `mneme chat`: end that first.") from error


def sync_to_disk(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _opened(path: Path, *, for_reading: bool = False) -> Iterator[sqlite3.Connection]:
    with explained(path):
        try:
            connection = _connect_to(path, "mode=rw")
        except sqlite3.OperationalError:
            if not for_reading:
                raise
            connection = connect_read_only(path)
        with contextlib.closing(connection):
            yield connection
