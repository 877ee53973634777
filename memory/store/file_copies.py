"""Copies of the Markdown files in the database, so that a replica of the database includes them.

When the database records that something was written to a file, the copy is updated in the same transaction. So a
restored file always matches the restored records.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import aiosqlite
import structlog

from memory.store.database import Database

log = structlog.get_logger(__name__)

FOLDERS = ("memory", "skills")
"""The copied folders of a data directory. A backup contains the same folders."""
MAX_FILE_BYTES = 8 * 1024 * 1024
"""Larger files are not copied, since each change sends the whole file to the replica."""
_FILES_PER_WRITE = 50

Stamp = tuple[int, int]
"""Size in bytes and modification time in nanoseconds."""


class FileCopies:
    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._known: dict[str, Stamp] | None = None
        self._looking = asyncio.Lock()

    async def store(self, connection: aiosqlite.Connection, path: Path) -> None:
        name = path.relative_to(self._folder).as_posix()
        read = await asyncio.to_thread(_read, path)
        if read is None:
            await connection.execute("DELETE FROM file_copies WHERE path = ?", (name,))
            return
        (size, changed), content = read
        await connection.execute(
            "INSERT OR REPLACE INTO file_copies (path, content, size, changed) VALUES (?, ?, ?, ?)",
            (name, content, size, changed),
        )

    async def update(self) -> None:
        """Copy all files that have changed, and delete the copies of deleted files."""
        async with self._looking:
            found = await asyncio.to_thread(_find_files, self._folder)
            if found == self._known:
                return
            rows = await self._database.rows("SELECT path, size, changed FROM file_copies")
            known = {row["path"]: (row["size"], row["changed"]) for row in rows}
            different = [name for name in {*found, *known} if found.get(name) != known.get(name)]
            # In small transactions, so that other writes need not wait.
            for first in range(0, len(different), _FILES_PER_WRITE):
                async with self._database.transaction() as connection:
                    for name in different[first : first + _FILES_PER_WRITE]:
                        await self.store(connection, self._folder / name)
            self._known = found


def _find_files(folder: Path) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for top in FOLDERS:
        for place, folders, names in os.walk(folder / top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = os.path.join(place, name)  # noqa: PTH118  # thousands of files, every second
                is_shown = not name.startswith(".") and name.isprintable()  # No lock files, and no undecodable names.
                if is_shown and (stamp := _read_stamp(path)) is not None:
                    found[os.path.relpath(path, folder)] = stamp
    return found


def _read_stamp(path: Path | str) -> Stamp | None:
    """Return the stamp of a file, or None if it is too large, missing or not a file."""
    try:
        status = os.stat(path)  # noqa: PTH116  # the same
    except OSError:
        return None
    if not os.path.isfile(path) or status.st_size > MAX_FILE_BYTES:  # noqa: PTH113  # the same
        return None
    return status.st_size, status.st_mtime_ns


def _read(path: Path) -> tuple[Stamp, bytes] | None:
    stamp = _read_stamp(path)  # Taken before reading, so that a later change is noticed.
    try:
        return (stamp, path.read_bytes()) if stamp is not None else None
    except OSError as error:
        log.warning("file_not_copied", file=path.name, reason=error.strerror)
        return None
