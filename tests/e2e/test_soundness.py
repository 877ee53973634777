"""A damaged database is noticed at the start, and what is derived mends itself."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from memory.backup import soundness
from memory.errors import StoreError
from tests.support.fakes import Person

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import OpenApp

TABLES = ("inbox", "outbox", "sessions", "conversations", "messages", "turns", "entries", "changes", "usage", "notices")


async def lived(start: OpenApp, tmp_path: Path) -> Path:
    """A database that somebody has talked to, with nothing left in its write-ahead log."""
    async with start() as app:
        person = Person(app)
        await person.says("/remember the boat is called Aurora")
        await person.says("We sailed to Hydra")
    path = tmp_path / "data" / "mneme.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def spoil(path: Path, table: str) -> None:
    """Overwrite the first page of a table."""
    with closing(sqlite3.connect(path)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize("table", TABLES)
async def test_damage_is_said_at_the_start_whatever_table_it_is_in(start: OpenApp, tmp_path: Path, table: str) -> None:
    spoil(await lived(start, tmp_path), table)
    with pytest.raises(StoreError, match=r"mneme\.db is damaged.*restore it from a backup"):
        async with start():
            pass


async def test_an_index_whose_words_are_damaged_is_made_anew_at_the_start(start: OpenApp, tmp_path: Path) -> None:
    path = await lived(start, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE search_data SET block = x'00ff00ff' WHERE id > 10")
        connection.commit()
    async with start() as app:
        assert "Aurora" in await Person(app).says("/recall boat")


async def test_a_large_database_is_looked_at_beside_the_turns(
    start: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soundness, "SMALL", 0)
    spoil(await lived(start, tmp_path), "notices")
    with capture_logs() as logs:
        async with start() as app, asyncio.timeout(20):
            app.begin_background_work()
            while not (said := [entry for entry in logs if entry["event"] == "database_damaged"]):
                await app.database.value("SELECT 1")
    assert "notices" in said[0]["reason"]
