"""Copies of the files that people edit, in the database: whoever has a replica of it has them too.

A copy that belongs to a mark (a note is written, a change stands in MEMORY.md) is made in the transaction of that mark,
so that after a restore nothing is written a second time and nothing that is marked is missing.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from pathlib import Path

    import aiosqlite

    from memory.store.database import Database

log = structlog.get_logger(__name__)

FOLDERS = ("memory", "skills")
"""The folders of a data directory whose files are copied: those of a backup."""
LARGEST = 8 * 1024 * 1024
"""Bytes of the largest file that is copied: each change of one is sent whole."""
_AT_ONCE = 50

Stamp = tuple[int, int]
"""Size in bytes and time of the last change in nanoseconds: what tells that a file has changed."""


class FileCopies:
    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._known: dict[str, Stamp] | None = None
        self._looking = asyncio.Lock()

    async def keep(self, connection: aiosqlite.Connection, path: Path) -> None:
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

    async def look(self) -> None:
        """Copy what has changed since the last look, whoever changed it, and drop the copies of what is gone."""
        async with self._looking:
            found = await asyncio.to_thread(_files_in, self._folder)
            if found == self._known:
                return
            rows = await self._database.rows("SELECT path, size, changed FROM file_copies")
            known = {row["path"]: (row["size"], row["changed"]) for row in rows}
            different = [name for name in {*found, *known} if found.get(name) != known.get(name)]
            # in slices, so that other writers come in between
            for first in range(0, len(different), _AT_ONCE):
                async with self._database.transaction() as connection:
                    for name in different[first : first + _AT_ONCE]:
                        await self.keep(connection, self._folder / name)
            self._known = found


def _files_in(folder: Path) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for top in FOLDERS:
        for place, folders, names in os.walk(folder / top):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = os.path.join(place, name)  # noqa: PTH118  # thousands of files, every second
                is_shown = not name.startswith(".") and name.isprintable()  # no lock, and a name that is text
                if is_shown and (stamp := _stamp(path)) is not None:
                    found[os.path.relpath(path, folder)] = stamp
    return found


def _stamp(path: Path | str) -> Stamp | None:
    """None for what is not copied: no file, gone by now, or too large."""
    try:
        status = os.stat(path)  # noqa: PTH116  # the same
    except OSError:
        return None
    if not os.path.isfile(path) or status.st_size > LARGEST:  # noqa: PTH113  # the same
        return None
    return status.st_size, status.st_mtime_ns


def _read(path: Path) -> tuple[Stamp, bytes] | None:
    stamp = _stamp(path)  # before it is read, so that what changes meanwhile is seen at the next look
    try:
        return (stamp, path.read_bytes()) if stamp is not None else None
    except OSError as error:
        log.warning("file_not_copied", file=path.name, reason=error.strerror)
        return None
