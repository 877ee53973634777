"""The files of a database: who uses their directory, whole copies of what others are writing to, and what checks them.

One running bot uses a data directory at most, and nobody while it is being restored.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from typing import TYPE_CHECKING

from memory.errors import StoreError, explained

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LOCK_NAME = "run.lock"


@contextlib.contextmanager
def only_runner(folder: Path) -> Iterator[None]:
    """Keep `folder` from another bot, and from being restored, for as long as the context is open.

    The lock is the kernel's and ends with the process, however it ends. Raises StoreError when another has it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if os.geteuid() == 0:  # the bot itself has to be able to open it
            owner = folder.stat()
            os.fchown(file, owner.st_uid, owner.st_gid)
    except OSError as error:
        raise StoreError(f"{folder} can't be used: {error.strerror or error}.") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise StoreError(f"A bot is running on {folder}: stop it first, or set another MNEME_DATA_DIR.") from error
        yield
    finally:
        os.close(file)


def copy_database(source: Path, target: Path) -> None:
    """Copy the database at `source`, as it is at one moment, into the new file `target`, for its owner's eyes only.

    The copy is one file, without a write-ahead log beside it. Raises StoreError, and leaves no half copy.
    """
    try:
        target.touch(mode=0o600, exist_ok=False)
        with _opened(target) as there, _opened(source) as here:
            here.backup(there)  # all pages in one step: nobody's commit comes in between, and nobody waits
            there.execute("PRAGMA journal_mode = DELETE")
        sync(target)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreError(f"{target} can't be written: {error.strerror or error}.") from error
        raise


def require_sound(path: Path) -> None:
    """Raises StoreError for a database that SQLite finds damaged."""
    with _opened(path) as connection:
        verdict = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if verdict != "ok":
        raise StoreError(
            f"{path} is damaged ({verdict}): restore it from a backup with `mneme restore`; it is left as it is."
        )


def counted(path: Path, tables: Iterable[str]) -> dict[str, int]:
    """How many rows those of `tables` have that there are."""
    with _opened(path) as connection:
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        present = [table for table in tables if table in there]
        return {table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in present}


def format_of(path: Path) -> int:
    with _opened(path) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def close_up(path: Path) -> None:
    """Make the database one file, without a log beside it; a damaged one stays as it is.

    Raises StoreError while anybody has it open.
    """
    try:
        with _opened(path) as connection:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA journal_mode = DELETE")
    except StoreError as error:
        if "locked" in str(error.__cause__):
            raise StoreError(f"{path} is open in another program, such as `mneme chat`: end that first.") from error


def sync(path: Path) -> None:
    """Have the disk keep a file, or the names in a folder, also over a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with (
        explained(path),
        contextlib.closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)) as connection,
    ):
        yield connection
