"""A data directory that an earlier version wrote opens, migrates and is taken along without loss.

`former/rows.sql` holds the rows as that version had them, `former/memory` its Markdown files.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory.custody.import_fields import LEFT_OUT
from memory.custody.importing import Importer
from memory.custody.portable import Portable
from memory.custody.undo import Undo
from memory.files.markdown import MarkdownFiles
from memory.learning.learning import Learning
from memory.ledger.changes import ChangeLog
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import Kind, NewEntry
from memory.store.migrations import MIGRATIONS
from tests.support.talk import Store, in_utc, ledger_over

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.fakes import FakeClock

FORMER = Path(__file__).with_name("former")
FORMER_VERSION = 10
"""Migrations that the version had which wrote it."""
OWNER = "telegram:12345"


def rows_by_table(statements: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in statements.splitlines():
        if line.startswith("INSERT INTO "):
            table = line.split(maxsplit=3)[2]
            counts[table] = counts.get(table, 0) + 1
    return counts


@pytest.fixture
async def former(tmp_path: Path) -> AsyncIterator[Database]:
    """The former data directory in `data`, opened by this version."""
    folder = tmp_path / "data"
    shutil.copytree(FORMER / "memory", folder / "memory")
    old = await Database.open(folder / "mneme.db", MIGRATIONS[:FORMER_VERSION])
    async with old.transaction() as connection:
        await connection.execute("PRAGMA defer_foreign_keys = ON")
        for statement in statements_of((FORMER / "rows.sql").read_text(encoding="utf-8")):
            await connection.execute(statement)
        await connection.execute("INSERT INTO search (search) VALUES ('rebuild')")
    await old.close()
    opened = await Database.open(folder / "mneme.db")
    yield opened
    await opened.close()


def statements_of(script: str) -> list[str]:
    statements, begun = [], ""
    for line in script.splitlines():
        begun += f"{line}\n"
        if sqlite3.complete_statement(begun):
            statements.append(begun)
            begun = ""
    return statements


async def test_it_migrates_without_loss(former: Database, clock: FakeClock) -> None:
    for table, count in rows_by_table((FORMER / "rows.sql").read_text(encoding="utf-8")).items():
        assert await former.value(f"SELECT count(*) FROM {table}") == count, table  # noqa: S608  # our own tables
    store = Store.over(former, clock)
    assert (await store.entries.get(OWNER, "rent")).content == "The rent is 950."
    assert (await store.entries.get(OWNER, "rent until 2026-02-08")).superseded_by is not None
    assert (await store.entries.get(OWNER, "spare key")).name == "key of the shed"
    release = await store.entries.get(OWNER, "release")
    assert (release.steps, release.success_count) == (("test", "tag"), 1)


async def test_its_index_is_what_a_new_one_would_be(former: Database) -> None:
    async with former.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    assert {hit.name for hit in await Search(former).find("ключ", OWNER)} == {"key of the shed"}


async def test_it_is_exported_and_its_memory_and_log_are_imported_whole(former: Database, tmp_path: Path) -> None:
    await Portable(former, tmp_path / "data" / "memory").export(tmp_path / "export")
    counts = json.loads((tmp_path / "export" / "contents.json").read_text())
    written = rows_by_table((FORMER / "rows.sql").read_text(encoding="utf-8"))
    assert {table: counts[table] for table in counts if counts[table]} == {
        t: written[t] for t in written if t in counts
    }
    new = await Database.open(tmp_path / "new" / "mneme.db")
    try:
        await Importer(new, tmp_path / "new" / "memory").run(tmp_path / "export")
        await Portable(new, tmp_path / "new" / "memory").export(tmp_path / "again")
    finally:
        await new.close()
    exports = [
        {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.stem not in {"contents", *LEFT_OUT}
        }
        for folder in (tmp_path / "export", tmp_path / "again")
    ]
    assert exports[0] == exports[1]
    assert (tmp_path / "new" / "memory" / OWNER / "MEMORY.md").read_text().startswith("# Home\n")


async def test_its_changes_can_be_undone_and_its_facts_find_their_lines(
    former: Database, tmp_path: Path, clock: FakeClock
) -> None:
    files = MarkdownFiles(tmp_path / "data" / "memory", in_utc, recent_days=7, max_memory_size=8192)
    memory_md, undo = files.folder(OWNER) / "MEMORY.md", Undo(former, ChangeLog(clock), files)
    learning = Learning(former, Search(former), ledger_over(former, clock, files))
    await learning.learn(OWNER, NewEntry("The user likes coffee.", kind=Kind.PREFERENCE), "drink")
    assert memory_md.read_text() == "# Home\n- The user likes coffee.\n- Somebody wrote this\n"
    undone = [await undo.undo(OWNER) for _ in range(4)]
    assert [one and one.operation for one in undone] == ["learn", "remove", "add", "consolidate"]
    assert memory_md.read_text() == "# Home\n- The user likes tea.\n- Somebody wrote this\n"
    while await undo.undo(OWNER):
        pass
    assert await Store.over(former, clock).entries.list(OWNER) == []
    assert memory_md.read_text() == ""
