"""Tests of /forget all: everything of one owner is deleted, and nothing of others."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memory.errors import StoreError
from memory.files.markdown import MarkdownFiles
from memory.forgetting import Extent, Forgetting
from memory.ledger.long_term import LongTermMemory
from memory.ledger.undo import Undo
from memory.search.search import Search
from memory.store import erasure
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from memory.store.entry import Author, NewEntry
from memory.store.erasure import PendingErasures
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock
from tests.support.talk import Store, assistant, create_ledger, user

MINE, THEIRS = "telegram:1", "telegram:2"
TEXT = "the lighthouse secretly"


@pytest.fixture
async def store(database: Database, files: MarkdownFiles, clock: FakeClock) -> Store:
    """Return a store with all kinds of data for two owners."""
    store = Store.create(database, clock)
    undo = Undo(database, files, PendingErasures(database), clock)
    for chat, owner in (("1", MINE), ("2", THEIRS)):
        session = await store.session(chat)
        reply = OutgoingReply("telegram", TEXT)
        async with database.transaction() as connection:
            await connection.execute(
                "INSERT INTO inbox (channel, update_id, session_id, payload, received_at) VALUES (?, ?, ?, ?, '')",
                ("telegram", int(chat), session.id, f'{{"text": "{TEXT}"}}'),
            )
        await store.commit_turn(session, user(TEXT), assistant(TEXT), inbox=(int(chat),), reply=reply)
        for name in ("kept", "removed", "undone"):
            await store.entries.add(owner, NewEntry(TEXT, name=name))
        await undo.undo(owner)
        await store.entries.remove(owner, "removed")
        await store.entries.alias(owner, "kept", "lighthouse")
        await LongTermMemory(files, create_ledger(database, clock, files)).append(owner, TEXT, Author.USER)
        await files.append_today(owner, clock(), TEXT)
    async with database.transaction() as connection:
        await connection.execute("UPDATE outbox SET state = 'sent'")
        await connection.execute("UPDATE entries SET superseded_by = id")
    return store


async def count_rows_with(database: Database, text: str) -> int:
    """Return the number of rows in all tables that contain the text."""
    tables = await database.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%'")
    count = 0
    for table in tables:
        rows = await database.rows(f"SELECT * FROM {table['name']}")  # noqa: S608  # Constants.
        count += sum(text in str(tuple(row)) for row in rows)
    return count


async def test_forget_all_deletes_one_owner_only(store: Store, files: MarkdownFiles, database: Database) -> None:
    forgetting = Forgetting(database, files, PendingErasures(database))
    before = await count_rows_with(database, TEXT)
    assert await forgetting.forget_all(MINE) == Extent(messages=2, entries=2, files=2)
    assert await count_rows_with(database, TEXT) == before // 2
    assert await forgetting.measure_extent(MINE) == Extent(0, 0, 0)
    assert await forgetting.measure_extent(THEIRS) == Extent(messages=2, entries=2, files=2)
    assert not files.get_folder(MINE).exists()
    assert files.get_folder(THEIRS).exists()
    assert {hit.owner for hit in await Search(database).find("lighthouse")} == {THEIRS}
    assert await Undo(database, files, PendingErasures(database), store.clock).undo(MINE) is None


async def test_forgotten_text_is_gone_from_database_wal_and_upgrade_copy(
    store: Store, files: MarkdownFiles, database: Database
) -> None:
    only_mine = "xylophonist"
    await store.commit_exchange(await store.session("1"), f"my neighbour is a {only_mine}", "yes")
    await store.entries.add(MINE, NewEntry(f"a {only_mine} lives next door", name=only_mine))
    await store.entries.remove(MINE, only_mine)
    copy = database.path.with_name("mneme.db.format-3")
    copy.write_bytes(only_mine.encode())

    def traces() -> list[str]:
        # The index contains stems.
        return [p.name for p in database.path.parent.glob("mneme.db*") if only_mine[:8].encode() in p.read_bytes()]

    assert "mneme.db.format-3" in traces()
    assert len(traces()) > 1
    await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    assert traces() == []
    assert len(await Search(database).find("lighthouse", THEIRS)) == 3
    assert await count_rows_with(database, TEXT) > 0


async def test_27_text_kept_in_the_wal_is_reported_and_retried(
    store: Store, files: MarkdownFiles, database: Database
) -> None:
    async with database.transaction() as connection:
        await connection.execute("PRAGMA busy_timeout = 100")
    forgetting = Forgetting(database, files, PendingErasures(database))

    def kept() -> bool:
        return any(TEXT.encode() in path.read_bytes() for path in database.path.parent.glob("mneme.db*"))

    await forgetting.forget_all(THEIRS)
    async with database.snapshot() as reader:
        await reader.execute_fetchall("SELECT count(*) FROM messages")
        with pytest.raises(StoreError, match="another program is still using"):
            await forgetting.forget_all(MINE)
        assert kept()
    await forgetting.forget_all(MINE)
    assert not kept()


async def test_erasure_of_files_killed_midway_ends_at_next_start(
    store: Store, files: MarkdownFiles, database: Database, start: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    async def kill() -> None:
        raise Killed

    def kept() -> bool:
        return any(TEXT.encode() in path.read_bytes() for path in database.path.parent.glob("mneme.db*"))

    await Forgetting(database, files, PendingErasures(database)).forget_all(THEIRS)
    monkeypatch.setattr(database, "scrub", kill)
    with pytest.raises(Killed):
        await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    assert kept()
    async with start():
        assert not kept()


async def test_others_can_write_during_an_erasure(
    store: Store, files: MarkdownFiles, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasure, "MESSAGES_PER_WRITE", 3)
    monkeypatch.setattr(erasure, "ROWS_PER_WRITE", 1)
    for number in range(60):
        await store.commit_exchange(await store.session("1"), f"{TEXT} {number}", f"{number} {TEXT}")
    messages = "SELECT count(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE c.owner_id = 1"
    forgetting = asyncio.create_task(Forgetting(database, files, PendingErasures(database)).forget_all(MINE))
    while await database.value("SELECT 1 FROM owners WHERE name = ?", (MINE,)):
        pass
    left = [await database.value(messages)]
    # The data is invisible from the first moment on.
    assert await Search(database).find("lighthouse", MINE) == []
    for number in range(4):
        await store.entries.add(THEIRS, NewEntry(f"a boat {number}", name=f"boat {number}"))
        left.append(await database.value(messages))
    await store.commit_exchange(await store.session("1"), "a new lighthouse", "yes")
    await forgetting
    assert left == sorted(left, reverse=True)
    assert left[-1] > 0
    assert await database.value(messages) == 0
    assert [hit.content for hit in await Search(database).find("lighthouse", MINE)] == ["a new lighthouse", "yes"]
    async with database.transaction() as connection:
        await connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")


async def test_erasure_of_rows_killed_midway_ends_at_next_start(
    store: Store, files: MarkdownFiles, database: Database, start: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    async def kill(database: Database, conversation: int) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "_shorten", kill)
        with pytest.raises(Killed):
            await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    assert await count_rows_with(database, TEXT) > 0
    assert await Search(database).find("lighthouse", MINE) == []
    assert await store.entries.list(MINE) == []
    assert await Forgetting(database, files, PendingErasures(database)).measure_extent(MINE) == Extent(0, 0, 0)
    before = await count_rows_with(database, TEXT)
    async with start():
        assert await count_rows_with(database, TEXT) < before
        assert await database.value("SELECT count(*) FROM owners") == 1


async def test_text_remaining_elsewhere_is_reported_at_the_end(
    store: Store, files: MarkdownFiles, database: Database
) -> None:
    async def stays() -> None:
        raise StoreError("the moon still knows it.")

    forgetting = Forgetting(database, files, PendingErasures(database))
    forgetting.add_store(stays)
    with pytest.raises(StoreError, match="memories are deleted, but some other data is not: the moon still knows it"):
        await forgetting.forget_all(MINE)
    assert not files.get_folder(MINE).exists()


async def test_owner_can_be_used_again_after_forget_all(store: Store, files: MarkdownFiles, database: Database) -> None:
    await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    await store.commit_exchange(await store.session("1"), "a new lighthouse", "yes")
    await store.entries.add(MINE, NewEntry("a new one", name="kept"))
    assert len(await Search(database).find("lighthouse", MINE)) == 2
    assert [entry.name for entry in await store.entries.list(MINE)] == ["kept"]


async def test_waiting_reply_is_still_delivered(store: Store, files: MarkdownFiles, database: Database) -> None:
    await store.commit_turn(await store.session("1"), user("x"), reply=OutgoingReply("telegram", "is on its way"))
    await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    assert [row["text"] for row in await database.rows("SELECT text FROM outbox WHERE session_id = ?", (MINE,))] == [
        "is on its way"
    ]


async def test_forgetting_nothing_succeeds(files: MarkdownFiles, database: Database) -> None:
    assert await Forgetting(database, files, PendingErasures(database)).forget_all("telegram:9") == Extent(0, 0, 0)


async def test_files_that_can_not_be_deleted_are_reported(
    store: Store, files: MarkdownFiles, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("shutil.rmtree", refuse)  # A mode doesn't stop root.
    with pytest.raises(StoreError, match=r"telegram:1 can't be deleted \(Permission denied\): delete it by hand"):
        await Forgetting(database, files, PendingErasures(database)).forget_all(MINE)
    assert await Search(database).find("lighthouse", MINE) == []
