"""Tests of sessions and their append-only log."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from memory.errors import StoreError
from memory.log.sessions import Address, Marker, SessionState
from memory.log.turn_log import Outcome
from memory.mail.inbox import ReceivedUpdate
from memory.mail.mailbox import Mailbox
from memory.messages import Message, Provenance, Role, ToolCall
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from tests.support.fakes import FakeClock
from tests.support.talk import NOON, Store, assistant, calls, result, user


@pytest.mark.parametrize(
    ("address", "session_id", "owner"),
    [
        (Address("telegram", "12345"), "telegram:12345", "telegram:12345"),
        (Address("telegram", "-100678", "9"), "telegram:-100678:9", "telegram:-100678"),
        (Address("console", "local"), "console:local", "console:local"),
    ],
)
async def test_session_is_created_at_the_first_message(
    store: Store, address: Address, session_id: str, owner: str
) -> None:
    session = await store.sessions.get_or_create(address)
    assert (session.id, session.owner, session.address) == (session_id, owner, address)
    assert session.state is SessionState.ACTIVE
    assert session.created_at == session.updated_at == store.clock()


async def test_concurrent_requests_for_a_chat_share_one_session(store: Store) -> None:
    found = await asyncio.gather(*(store.session() for _ in range(10)))
    assert len(set(map(str, found))) == 1
    assert await store.database.value("SELECT count(*) FROM sessions") == 1


async def test_topics_of_a_chat_share_memory_but_no_conversation(store: Store) -> None:
    one = await store.sessions.get_or_create(Address("telegram", "-100", "1"))
    two = await store.sessions.get_or_create(Address("telegram", "-100", "2"))
    await store.commit_exchange(one, "in the first topic", "yes")
    assert one.owner == two.owner
    assert await store.list_visible(two) == []


async def test_shared_memory_gives_all_chats_one_owner(database: Database, clock: FakeClock) -> None:
    store = Store.create(database, clock, shared_owner=True)
    owners = {(await store.session("1")).owner, (await store.session("2")).owner}
    assert owners == {"shared"}
    assert store.sessions.get_owner(Address("console", "local")) == "shared"


async def test_session_follows_a_change_of_memory_scope(database: Database, clock: FakeClock) -> None:
    await Store.create(database, clock).session()
    assert (await Store.create(database, clock, shared_owner=True).session()).owner == "shared"
    assert (await Store.create(database, clock).session()).owner == "telegram:12345"


async def test_created_at_is_constant_and_updated_at_the_last_message(store: Store) -> None:
    first = await store.session()
    store.clock.forward(hours=1)
    await store.commit_exchange(first, "Hello", "Hi")
    assert (await store.session()).created_at == first.created_at
    assert (await store.session()).updated_at == store.clock()
    store.clock.forward(hours=1)
    saved = await store.sessions.save(replace(first, created_at=store.clock(), metadata={"timezone": "Europe/Kyiv"}))
    assert (await store.session()) == replace(saved, created_at=first.created_at)


async def test_state_and_metadata_survive_a_restart(store: Store) -> None:
    session = await store.session()
    changed = replace(session, state=SessionState.PAUSED, metadata={"timezone": "Asia/Tokyo", "name": "Оленка"})
    await store.sessions.save(changed)
    found = await Store.create(store.database, store.clock).session()
    assert (found.state, found.metadata) == (SessionState.PAUSED, {"timezone": "Asia/Tokyo", "name": "Оленка"})


async def test_deleted_session_loses_its_log_and_can_begin_again(store: Store) -> None:
    session, other = await store.session("1"), await store.session("2")
    await store.commit_exchange(session, "forget this", "gladly")
    await store.commit_exchange(other, "keep this", "gladly")
    assert await store.sessions.delete(session.id)
    assert not await store.sessions.delete(session.id)
    assert [r["content"] for r in await store.database.rows("SELECT content FROM messages ORDER BY id")] == [
        "keep this",
        "gladly",
    ]
    store.clock.forward(days=1)
    assert (await store.session("1")).created_at == store.clock()
    await store.commit_exchange(session, "hello again", "hello")
    assert await store.sessions.count_messages(session.id) == 2


async def test_session_deleted_by_another_program_begins_again(store: Store) -> None:
    session = await store.session()
    await Store.create(store.database, store.clock).sessions.delete(session.id)
    await store.commit_exchange(await store.session(), "still there?", "yes")
    assert await store.list_visible(session) == ["still there?", "yes"]


async def test_new_empties_the_conversation_and_keeps_the_log(store: Store) -> None:
    session = await store.session()
    await store.commit_exchange(session, "My name is Olena", "Nice to meet you")
    assert await store.sessions.clear_messages(session.id) == 2
    assert await store.list_visible(session) == []
    assert await store.sessions.count_messages(session.id) == 0
    await store.commit_exchange(session, "What is my name?", "You did not say")
    assert await store.list_visible(session) == ["What is my name?", "You did not say"]
    assert await store.database.value("SELECT count(*) FROM messages") == 4


async def test_new_on_an_empty_conversation_changes_nothing(store: Store) -> None:
    session = await store.session()
    assert await store.sessions.clear_messages(session.id) == 0
    assert await store.sessions.clear_messages("telegram:unknown") == 0


async def test_counts_and_clearing_are_correct_after_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    before = await Database.open(tmp_path / "mneme.db")
    store = Store.create(before, clock)
    await store.commit_exchange(await store.session(), "Hello", "Hi")
    await before.close()
    again = await Database.open(tmp_path / "mneme.db")
    store = Store.create(again, clock)
    assert await store.sessions.count_messages("telegram:12345") == 2
    assert await store.sessions.clear_messages("telegram:12345") == 2
    await again.close()


async def test_message_round_trips_through_the_log(store: Store) -> None:
    session = await store.session()
    said = [
        Message(Role.USER, "Що нового?\x00 \U0001f600", NOON, speaker="Олена", provenance=Provenance.FORWARDED),
        Message(Role.ASSISTANT, "", NOON, tool_calls=(ToolCall("c1", "note", '{"текст": "так"}'),)),
        Message(Role.TOOL, "done", NOON, speaker="note", tool_call_id="c1"),
        Message(Role.ASSISTANT, "Нічого.", NOON),
    ]
    turn = await store.commit_turn(session, *said)
    read = (await store.sessions.read_transcript(session.id)).messages
    assert [replace(m, id=None) for m in read] == [replace(m, turn_id=turn) for m in said]
    assert [m.id for m in read] == sorted({m.id for m in read if m.id is not None})


async def test_lone_surrogate_from_a_model_is_stored(store: Store) -> None:
    session = await store.session()
    reply = OutgoingReply("telegram", "look: \ud83d")
    await store.commit_turn(session, user("Draw"), assistant("look: \ud83d\ude00 \ud83d"), reply=reply)
    assert await store.list_visible(session) == ["Draw", "look: \U0001f600 \ufffd"]
    assert await store.database.value("SELECT text FROM outbox") == "look: \ufffd"


async def test_transcript_starts_at_the_newest_marker(store: Store) -> None:
    session = await store.session()
    for n in range(1, 5):
        await store.commit_exchange(session, f"question {n}", f"answer {n}")
    whole = await store.sessions.read_transcript(session.id)
    assert whole.conversation_id is not None
    assert whole.summary is None
    for summary, first_kept in (("the first", whole.messages[2]), ("the first two", whole.messages[4])):
        archive = await store.archive(session.owner, summary)
        marker = Marker(archive.name, archive.id, store.clock(), first_kept.id or 0)
        await store.mark(whole.conversation_id, marker)
    shown = await store.sessions.read_transcript(session.id)
    assert shown.summary == "the first two"
    assert [m.content for m in shown.messages] == ["question 3", "answer 3", "question 4", "answer 4"]
    assert [m.first_kept_message_id for m in await store.list_markers(session)] == [
        whole.messages[2].id,
        whole.messages[4].id,
    ]
    assert await store.sessions.count_messages(session.id) == 8
    await store.sessions.clear_messages(session.id)
    assert await store.list_markers(session) == []
    assert (await store.sessions.read_transcript(session.id)).summary is None


async def test_renamed_archive_still_opens_the_conversation(store: Store) -> None:
    session = await store.session()
    await store.commit_exchange(session, "old", "older")
    await store.commit_exchange(session, "new", "newer")
    transcript = await store.sessions.read_transcript(session.id)
    archive = await store.archive(session.owner, "what was old")
    assert transcript.conversation_id is not None
    marker = Marker(archive.name, archive.id, store.clock(), transcript.messages[2].id or 0)
    await store.mark(transcript.conversation_id, marker)
    await store.entries.rename(session.owner, archive.name, "my-name")
    assert (await store.sessions.read_transcript(session.id)).summary == "what was old"
    await store.entries.remove(session.owner, "my-name")
    assert (await store.sessions.read_transcript(session.id)).summary is None


async def test_retried_turn_stays_in_the_log_but_not_in_view(store: Store) -> None:
    session = await store.session()
    first = await store.commit_exchange(session, "Tell a joke", "No")
    second = await store.commit_turn(session, user("Tell a joke"), assistant("A horse walks in"), replaces=first)
    assert await store.list_visible(session) == ["Tell a joke", "A horse walks in"]
    assert await store.sessions.count_messages(session.id) == 2
    assert await store.database.value("SELECT count(*) FROM messages") == 4
    last = await store.turns.find_last(session.id)
    assert last is not None
    assert (last.id, last.outcome) == (second, Outcome.ANSWERED)
    assert [m.content for m in last.user_messages] == ["Tell a joke"]


async def test_last_turn_of_an_ended_conversation_can_not_be_retried(store: Store) -> None:
    session = await store.session()
    assert await store.turns.find_last(session.id) is None
    await store.commit_exchange(session, "Hello", "Hi")
    await store.sessions.clear_messages(session.id)
    assert await store.turns.find_last(session.id) is None


async def test_conversations_of_chats_are_separate(store: Store) -> None:
    one, two = await store.session("1"), await store.session("2")
    await store.commit_exchange(one, "of one", "to one")
    await store.commit_exchange(two, "of two", "to two")
    assert await store.list_visible(one) == ["of one", "to one"]
    await store.sessions.clear_messages(one.id)
    assert await store.list_visible(two) == ["of two", "to two"]


async def test_commit_settles_the_inbox_and_fills_the_outbox(store: Store) -> None:
    mailbox = Mailbox(store.database, "telegram", store.clock)
    session = await store.session()
    await mailbox.inbox.receive(ReceivedUpdate(n, session.id, "{}") for n in (7, 8, 9))
    waiting = await mailbox.inbox.list_waiting()
    reply = OutgoingReply("telegram", "Hi", reply_to="41", preview_id="42")
    await store.commit_turn(session, user("Hello"), assistant("Hi"), inbox=(waiting[0].id, waiting[1].id), reply=reply)
    assert [item.update_id for item in await mailbox.inbox.list_waiting()] == [9]
    (sent,) = await mailbox.outbox.list_unsent()
    assert (sent.text, sent.reply_to, sent.preview_id, sent.message_ids) == ("Hi", "41", "42", ())


async def test_commit_that_fails_midway_writes_nothing(store: Store) -> None:
    mailbox = Mailbox(store.database, "telegram", store.clock)
    session = await store.session()
    before = await store.commit_exchange(session, "before", "yes")
    await mailbox.inbox.receive([ReceivedUpdate(7, session.id, "{}")])
    (waiting,) = await mailbox.inbox.list_waiting()
    store.clock.forward(minutes=5)
    stranger = replace(session, id="telegram:nobody")
    with pytest.raises(StoreError, match="no session"):
        await store.commit_turn(stranger, user("Hello"), assistant("Hi"))
    async with store.database.transaction() as connection:  # The last insert of the commit will fail.
        await connection.execute("CREATE TRIGGER no_mail BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'no'); END")
    with pytest.raises(sqlite3.IntegrityError):
        await store.commit_turn(
            session,
            user("Hello"),
            calls("c1"),
            result("c1"),
            assistant("Hi"),
            replaces=before,
            inbox=(waiting.id,),
            reply=OutgoingReply("telegram", "Hi"),
        )
    assert await store.list_visible(session) == ["before", "yes"]
    assert await store.database.value("SELECT count(*) FROM turns") == 1
    assert [item.id for item in await mailbox.inbox.list_waiting()] == [waiting.id]
    assert await mailbox.outbox.list_unsent() == []
    assert (await store.session()).updated_at < store.clock()
