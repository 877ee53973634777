"""Databases with overwritten pages."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table. The database must be closed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
