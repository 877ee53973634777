"""Tests of durability: everything confirmed survives a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory.files.history import HistoryFiles
from memory.files.markdown import MarkdownFiles
from memory.store.database import Database
from tests.support.fakes import FakeClock
from tests.support.talk import in_utc

FULL = 2


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record the name and size of each synced file."""
    seen: list[tuple[str, int]] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        seen.append((path.name, path.stat().st_size if path.is_file() else 0))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return seen


async def test_commit_is_on_disk_before_it_is_confirmed(database: Database) -> None:
    async with database.transaction() as connection:
        ((level,),) = await connection.execute_fetchall("PRAGMA synchronous")
    assert level == FULL


async def test_note_and_history_are_on_disk_before_they_count(
    tmp_path: Path, clock: FakeClock, synced: list[tuple[str, int]]
) -> None:
    files = MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=8192)
    await files.append_today("ann", clock(), "a note")
    note = tmp_path / "memory" / "ann" / f"{clock():%Y-%m-%d}.md"
    assert (note.name, note.stat().st_size) in synced
    assert {name for name, _ in synced} >= {"memory", "ann"}  # The parent folders.
    synced.clear()
    await HistoryFiles(files).append("ann", clock(), "what happened", "messages 1-2")
    written = {path.name: path.stat().st_size for path in note.parent.glob("HISTORY*.md")}
    assert len(written) == 2
    assert written.items() <= set(synced)


async def test_new_version_of_memory_md_survives_a_power_cut(tmp_path: Path, synced: list[tuple[str, int]]) -> None:
    files = MarkdownFiles(tmp_path / "memory", in_utc, recent_days=7, max_memory_size=8192)
    await files.change_long_term("ann", lambda _: "first\n")
    synced.clear()
    await files.change_long_term("ann", lambda _: "second\n")
    assert synced[-1][0] == "ann"  # The rename is synced too.
