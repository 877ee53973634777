"""Integrity checks of the database.

`inspect_database` checks a database without changing it. `IntegrityCheck` runs at the start of the bot and rebuilds
damaged indexes and other derived tables.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import aiosqlite
import structlog

from memory.errors import StoreError, explain, explain_damage, explain_empty_file, is_environmental
from memory.store.database import FUNCTIONS, Database
from memory.store.index import DERIVED, is_derived, rebuild_derived, reindex, renew
from memory.store.index_records import find_trouble
from memory.store.schema import INDEXES, NEWEST_FORMAT, explain_unreadable
from memory.store.snapshots import connect_read_only

log = structlog.get_logger(__name__)

LOOSE = "pages that belong to no table"
_LOOSE_PAGES = re.compile(
    r"(\*\*\* in database main \*\*\*\s*)?((Page \d+( is|:) never used|(Main f|F)reelist: .*)(\n|$))+$"
)
MAX_QUICK_CHECK_BYTES = 64_000_000
"""A smaller database is checked in a fraction of a second, a larger one in the background."""
_LOGGED_PROGRESS_STEP = 0.1


@dataclass(frozen=True, slots=True)
class DatabaseState:
    exists: bool
    schema: int | None = None  # None if it can't be read
    trouble: StoreError | None = None  # the reason why it can't be used
    index_matches: bool | None = None  # whether the search index matches the indexed rows, if checked

    @property
    def is_outdated(self) -> bool:
        return self.schema is not None and self.schema < NEWEST_FORMAT

    @property
    def is_usable(self) -> bool:
        return self.exists and self.trouble is None and not self.is_outdated


def get_sqlite_version() -> str:
    return sqlite3.sqlite_version


class IntegrityCheck:
    """Checks the database and rebuilds damaged derived tables, such as indexes and vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._logged_progress = 0.0

    @property
    def is_quick(self) -> bool:
        return self._database.path.stat().st_size <= MAX_QUICK_CHECK_BYTES

    async def examine(self) -> None:
        """Check and repair the database. Raise StoreError if a table that isn't derived is damaged."""
        path = self._database.path
        damaged = await asyncio.to_thread(find_damaged_tables, path)
        if lost := [table for table in damaged if table != LOOSE and not is_derived(table)]:
            raise explain_damage(path, ", ".join(lost))
        # Stray pages belong to no table. A VACUUM removes them.
        if LOOSE in damaged:
            await self._database.vacuum()
        if others := sorted({table for table in damaged if table in DERIVED} - set(INDEXES)):
            log.warning("derived_tables_damaged", tables=others, remedy="they are made anew")
            await rebuild_derived(self._database, partial(_renew_all, others))
        if set(damaged) - {LOOSE, *others} or not await self._check_index():
            log.warning("index_damaged", remedy="it is derived, and made anew")
            await reindex(self._database, self._report_progress)
            log.info("index_made_anew")

    def _report_progress(self, share: float) -> None:
        if share >= self._logged_progress + _LOGGED_PROGRESS_STEP:
            self._logged_progress = share
            log.info("index_in_the_making", done=f"{share:.0%}")

    async def _check_index(self) -> bool:
        try:
            for index in INDEXES:
                await self._database.write(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        except StoreError as error:
            # A full disk or a lock doesn't mean that the index is damaged.
            if is_environmental(error):
                raise
            return False
        # FTS5's own check ignores these.
        trouble = await asyncio.to_thread(_find_index_trouble, self._database.path)
        if trouble is not None:
            log.warning("index_records_damaged", reason=trouble)
        return trouble is None


def inspect_database(path: Path) -> DatabaseState:
    """Check a database, also while other processes write to it. Never raises. Takes seconds for a large one."""
    if not path.exists():
        return DatabaseState(exists=False)
    if path.stat().st_size == 0:
        return DatabaseState(exists=True, trouble=explain_empty_file(path))
    try:
        with _reading(path) as connection:
            schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if (reason := explain_unreadable(str(path), schema)) is not None:
                return DatabaseState(True, schema, StoreError(reason))
            verdict = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            if verdict != "ok" and all(is_derived(table) for table in find_damaged_tables(path) or [""]):
                return DatabaseState(True, schema, index_matches=False)
            if verdict != "ok":
                return DatabaseState(True, schema, explain_damage(path, " ".join(verdict.split())))
            in_step = _compare_index(connection) if schema == NEWEST_FORMAT else None
    except sqlite3.Error as error:
        return DatabaseState(exists=True, trouble=explain(error, path))
    return DatabaseState(True, schema, index_matches=in_step)


def find_damaged_tables(path: Path) -> list[str]:
    """Return the damaged tables, or LOOSE for stray pages. Takes about a second per gigabyte. Raises StoreError."""
    try:
        with _reading(path) as connection:
            verdicts = _read_verdicts(connection)
            if verdicts == ["ok"]:
                return []
            if all(_LOOSE_PAGES.match(verdict) for verdict in verdicts):
                return [LOOSE]
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            damaged = [table for table in tables if not _is_whole(connection, table)]
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return damaged or ["between its tables"]


def _read_verdicts(connection: sqlite3.Connection) -> list[str]:
    """Return the messages of `quick_check`, including the error that ends it if pages are badly damaged."""
    results: list[str] = []
    try:
        results.extend(str(row[0]) for row in connection.execute("PRAGMA quick_check"))
    except sqlite3.DatabaseError as error:
        results.append(str(error))
    return results


def _is_whole(connection: sqlite3.Connection, table: str) -> bool:
    try:
        return bool(connection.execute(f'PRAGMA quick_check("{table}")').fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False


def _compare_index(connection: sqlite3.Connection) -> bool | None:
    """Return whether the index matches the indexed rows, or None if there is no space for a copy to check.

    FTS5's comparison is a write, which would block the bot, so it runs on a copy.
    """
    try:
        with (
            tempfile.TemporaryDirectory(prefix="mneme-") as folder,
            contextlib.closing(sqlite3.connect(Path(folder) / "copy", isolation_level=None)) as copy,
        ):
            connection.backup(copy)
            for name, arguments, function in FUNCTIONS:
                copy.create_function(name, arguments, function, deterministic=True)
            try:
                # With rank 1 the index is also compared with the views.
                for index in INDEXES:
                    copy.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
                if any(find_trouble(copy, index) is not None for index in INDEXES):
                    return False
            except sqlite3.Error as error:
                if is_environmental(error):
                    raise
                return False
    except (sqlite3.Error, OSError):  # There is no space for the copy.
        return None
    return True


def _find_index_trouble(path: Path) -> str | None:
    try:
        with _reading(path) as connection:
            return next((found for index in INDEXES if (found := find_trouble(connection, index)) is not None), None)
    except sqlite3.Error as error:
        if is_environmental(error):
            raise explain(error, path) from error
        return str(error)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect_read_only(path)) as connection:
        yield connection


async def _renew_all(tables: Sequence[str], connection: aiosqlite.Connection, abandon: bool) -> None:
    for table in tables:
        await renew(connection, table, abandon=abandon)
