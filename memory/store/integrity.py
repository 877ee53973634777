"""Whether a database is whole, of this version, and its index in step: looked at without changing anything.

A running program looks at its own when it starts, before anybody relies on it, and makes anew what is damaged and
derived from the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from memory.errors import StoreError, empty, explain, is_of_surroundings
from memory.store.database import FUNCTIONS
from memory.store.index import DERIVED, is_derived, make_anew, reindex, renew
from memory.store.index_records import find_trouble
from memory.store.schema import INDEXES, NEWEST_FORMAT, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import aiosqlite

    from memory.store.database import Database

log = structlog.get_logger(__name__)

PATIENCE = 10
"""Seconds to wait for a program that is writing."""
RESTORE = "restore it from a backup with `mneme restore`; it is left as it is."
LOOSE = "pages that belong to no table"
_LOOSE_PAGES = re.compile(
    r"(\*\*\* in database main \*\*\*\s*)?((Page \d+( is|:) never used|(Main f|F)reelist: .*)(\n|$))+$"
)
SMALL = 64_000_000
"""Bytes of a database that is looked at in a fraction of a second; a larger one is looked at beside the turns."""
# the share of the index after which the log tells how far it is
_TOLD_EACH = 0.1


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """What was found."""

    exists: bool
    schema: int | None = None  # its format; None: unreadable
    trouble: StoreError | None = None  # why it can't be used
    in_step: bool | None = None  # whether the search index fits what it indexes; None: not compared

    @property
    def behind(self) -> bool:
        return self.schema is not None and self.schema < NEWEST_FORMAT

    @property
    def usable(self) -> bool:
        return self.exists and self.trouble is None and not self.behind


def sqlite_version() -> str:
    return sqlite3.sqlite_version


class IntegrityCheck:
    """Examines the database, and makes anew what is damaged and derived from the rest: indexes, vectors."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._told = 0.0

    @property
    def is_quick(self) -> bool:
        return self._database.path.stat().st_size <= SMALL

    async def examine(self) -> None:
        """Raises StoreError where more than what is derived is damaged, or that can't be mended."""
        path = self._database.path
        damaged = await asyncio.to_thread(damaged_tables, path)
        if lost := [table for table in damaged if table != LOOSE and not is_derived(table)]:
            raise StoreError(f"{path} is damaged ({', '.join(lost)}): {RESTORE}")
        # they belong to no table, so nothing is lost: a VACUUM leaves them out
        if LOOSE in damaged:
            await self._database.vacuum()
        if others := sorted({table for table in damaged if table in DERIVED} - set(INDEXES)):
            log.warning("derived_tables_damaged", tables=others, remedy="they are made anew")
            await make_anew(self._database, partial(_renew_all, others))
        if set(damaged) - {LOOSE, *others} or not await self._index_is_whole():
            log.warning("index_damaged", remedy="it is derived, and made anew")
            await reindex(self._database, self._tell)
            log.info("index_made_anew")

    def _tell(self, share: float) -> None:
        if share >= self._told + _TOLD_EACH:
            self._told = share
            log.info("index_in_the_making", done=f"{share:.0%}")

    async def _index_is_whole(self) -> bool:
        try:
            for index in INDEXES:
                await self._database.write(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        except StoreError as error:
            # a full disk or a lock says nothing of the index; anything else is said of the index alone
            if is_of_surroundings(error):
                raise
            return False
        # what FTS5's own check passes over
        trouble = await asyncio.to_thread(_trouble_of_indexes, self._database.path)
        if trouble is not None:
            log.warning("index_records_damaged", reason=trouble)
        return trouble is None


def inspect_database(path: Path) -> DatabaseState:
    """Look at the database at `path`, also while others write to it. Never raises; takes seconds for a large one."""
    if not path.exists():
        return DatabaseState(exists=False)
    if path.stat().st_size == 0:
        return DatabaseState(exists=True, trouble=empty(path))
    try:
        with _reading(path) as connection:
            schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if (reason := unreadable(str(path), schema)) is not None:
                return DatabaseState(True, schema, StoreError(reason))
            verdict = str(connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
            if verdict != "ok" and all(is_derived(table) for table in damaged_tables(path) or [""]):
                return DatabaseState(True, schema, in_step=False)
            if verdict != "ok":
                damaged = f"{path} is damaged ({' '.join(verdict.split())})"
                return DatabaseState(True, schema, StoreError(f"{damaged}: {RESTORE}"))
            in_step = _compared(connection) if schema == NEWEST_FORMAT else None
    except sqlite3.Error as error:
        return DatabaseState(exists=True, trouble=explain(error, path))
    return DatabaseState(True, schema, in_step=in_step)


def damaged_tables(path: Path) -> list[str]:
    """The tables with unreadable parts, seldom any; LOOSE: stray pages. A second a gigabyte. Raises StoreError."""
    try:
        with _reading(path) as connection:
            verdicts = _verdicts(connection)
            if verdicts == ["ok"]:
                return []
            if all(_LOOSE_PAGES.match(verdict) for verdict in verdicts):
                return [LOOSE]
            tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            damaged = [table for table in tables if not _is_whole(connection, table)]
    except sqlite3.Error as error:
        raise explain(error, path) from error
    return damaged or ["between its tables"]


def _verdicts(connection: sqlite3.Connection) -> list[str]:
    """What SQLite says of all pages; badly damaged ones end the look at them with an error."""
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


def _compared(connection: sqlite3.Connection) -> bool | None:
    """Whether the index fits, asked of a copy: FTS5's own comparison is a write, which would hold up the bot."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="mneme-") as folder,  # for its owner's eyes only
            contextlib.closing(sqlite3.connect(Path(folder) / "copy", isolation_level=None)) as copy,
        ):
            connection.backup(copy)
            for name, arguments, function in FUNCTIONS:
                copy.create_function(name, arguments, function, deterministic=True)
            try:
                # the 1 has it compared with the views, and not only with itself
                for index in INDEXES:
                    copy.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
                if any(find_trouble(copy, index) is not None for index in INDEXES):
                    return False
            except sqlite3.Error as error:
                if is_of_surroundings(error):
                    raise
                return False
    except (sqlite3.Error, OSError):  # no room for the copy
        return None
    return True


def _trouble_of_indexes(path: Path) -> str | None:
    try:
        with _reading(path) as connection:
            return next((said for index in INDEXES if (said := find_trouble(connection, index)) is not None), None)
    except sqlite3.Error as error:
        if is_of_surroundings(error):
            raise explain(error, path) from error
        return str(error)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = _connect(path, "mode=ro")
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            raise
        # where nothing can be written, the files that readers share can't be made; nobody writes there either
        connection = _connect(path, "immutable=1")
    with contextlib.closing(connection):
        yield connection


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=PATIENCE)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


async def _renew_all(tables: Sequence[str], connection: aiosqlite.Connection, abandon: bool) -> None:
    for table in tables:
        await renew(connection, table, abandon=abandon)
