"""Tests of migrating a chat to its new id: once, completely, and also for later writes to the former id."""

from __future__ import annotations

import pytest

from memory.errors import StoreError
from memory.files.markdown import MarkdownFiles
from memory.log.sessions import Address
from memory.mail.chat_migration import ChatMigration
from memory.runtime.preferences import PreferenceStore
from memory.search.search import Search
from memory.store.database import Database
from memory.store.entry import NewEntry
from tests.support.fakes import FakeClock
from tests.support.talk import Store

OLD, NEW = Address("telegram", "-5"), Address("telegram", "-1005")


@pytest.fixture
def moving(database: Database, files: MarkdownFiles, clock: FakeClock) -> ChatMigration:
    return ChatMigration(database, files, PreferenceStore(database), clock)


async def test_entry_added_under_the_former_id_is_found_under_new(
    moving: ChatMigration, database: Database, clock: FakeClock
) -> None:
    store = Store.create(database, clock)
    await store.entries.add(OLD.owner, NewEntry("We meet on Thursdays"))
    assert await moving.move(OLD, NEW)
    await store.entries.add(OLD.owner, NewEntry("The key is at Ann's"))
    assert {one.content for one in await store.entries.list(NEW.owner)} == {
        "We meet on Thursdays",
        "The key is at Ann's",
    }
    assert len(await Search(database).find("thursdays", NEW.owner)) == 1
    assert not await Search(database).find("thursdays", OLD.owner)


async def test_repeated_move_changes_nothing(moving: ChatMigration, database: Database, clock: FakeClock) -> None:
    store = Store.create(database, clock)
    await store.entries.add(OLD.owner, NewEntry("We meet on Thursdays"))
    assert [await moving.move(OLD, NEW) for _ in range(3)] == [True] * 3
    assert await moving.read_new_ids("telegram") == {"-5": "-1005"}
    assert len(await store.entries.list(NEW.owner)) == 1


@pytest.mark.parametrize("made_private", [OLD, NEW], ids=["the former", "the new one"])
async def test_private_talk_stays_private_after_a_move(
    moving: ChatMigration, database: Database, clock: FakeClock, made_private: Address
) -> None:
    store, talks = Store.create(database, clock), database.private
    former, _ = [await store.sessions.get_or_create(address) for address in (OLD, NEW)]
    await store.commit_exchange(former, "The fence is green", "Nice.")
    await talks.begin(made_private.session_id)
    await store.commit_exchange(former, "A quetzal sings", "Aha.")
    assert await moving.move(OLD, NEW)
    session = await store.sessions.get_or_create(NEW)
    assert session.private
    await store.commit_exchange(session, "Another quetzal sings", "Aha.")
    said = [message.content for message in (await store.sessions.read_transcript(session.id)).messages]
    assert said[:2] == ["The fence is green", "Nice."]
    assert said[-2:] == ["Another quetzal sings", "Aha."]
    await talks.end(session.id)
    left = b"".join(path.read_bytes() for path in database.path.parent.glob("mneme.db*"))
    assert (b"Another quetzal" in left, b"fence" in left) == (False, True)
    assert (b"A quetzal" in left) is (made_private is NEW)  # The user said it earlier, in a normal talk.


async def test_files_of_the_new_id_are_appended_to_the_former(moving: ChatMigration, files: MarkdownFiles) -> None:
    for address, text in ((OLD, "- former\n"), (NEW, "- present\n")):
        files.get_folder(address.owner).mkdir(parents=True)
        (files.get_folder(address.owner) / "MEMORY.md").write_text(text, encoding="utf-8")
    (files.get_folder(OLD.owner) / "2026-02-07.md").write_text("a note\n", encoding="utf-8")
    assert await moving.move(OLD, NEW)
    assert await files.read_long_term(NEW.owner) == "- former\n- present\n"
    assert (files.get_folder(NEW.owner) / "2026-02-07.md").read_text(encoding="utf-8") == "a note\n"
    assert not files.get_folder(OLD.owner).exists()


async def test_failed_move_of_files_changes_nothing(
    moving: ChatMigration, files: MarkdownFiles, database: Database, clock: FakeClock
) -> None:
    store = Store.create(database, clock)
    await store.entries.add(OLD.owner, NewEntry("We meet on Thursdays"))
    files.get_folder(OLD.owner).mkdir(parents=True, exist_ok=True)
    files.get_folder(NEW.owner).write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match="can't be moved"):
        await moving.move(OLD, NEW)
    assert await moving.read_new_ids("telegram") == {}
    assert len(await store.entries.list(OLD.owner)) == 1
