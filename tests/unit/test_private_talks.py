"""Tests of private talks in the store: no byte of them is ever in any file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.telegram.raw_updates import RawUpdate
from memory.files.markdown import MarkdownFiles
from memory.forgetting import Forgetting
from memory.log.sessions import Session
from memory.log.turn_log import Outcome
from memory.mail.inbox import ReceivedUpdate
from memory.mail.mailbox import Mailbox
from memory.media.media import Media, MediaFile, MediaKind, MediaStore
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from memory.store.erasure import PendingErasures
from memory.store.index import rebuild
from tests.support.blank import write_blank
from tests.support.fakes import FakeClock
from tests.support.features import INSTALLED
from tests.support.talk import Store, assistant, in_utc, user

CHATS = ("1", "2", "3")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(CHATS),
        st.sampled_from(("turn", "turn", "turn", "failed", "media", "private", "end", "settle", "held")),
        st.integers(1, 300),
    ),
    max_size=40,
)


class TalkingChats:
    """Chats with normal and private talk. Every word names the kind of talk that it comes from."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        self.database = database
        self.clock = clock
        self.store = Store.create(database, clock)
        self.traces = PendingErasures(database)
        self.talks = database.private
        self.mailbox = Mailbox(database, "telegram", clock)
        self.media = MediaStore(database, clock)
        self.number = 0

    def create_words(self, session: Session, size: int) -> str:
        self.number += 1
        said = "hushhush" if session.private else "outloud"
        return " ".join(f"{said}{self.number}x{n}" for n in range(size))

    async def step(self, chat: str, what: str, size: int) -> None:
        """Run one step in a chat."""
        session = await self.store.session(chat)
        if what == "private":
            await self.talks.begin(session.id)
        elif what == "end":
            if session.private:
                await self.talks.end(session.id)
        elif what == "settle":
            for number, item in enumerate(await self.mailbox.outbox.list_unsent(session.id)):
                await self.mailbox.outbox.settle(item, (str(number),), "blocked" if size % 3 == 0 else None)
        elif what == "media":
            file = MediaFile(MediaKind.DOCUMENT, "telegram", "f", f"u{self.number}", self.create_words(session, 1))
            media = await self.media.store(session, file)
            if "media" in INSTALLED:
                await self._store_text(media, self.create_words(session, size))
        else:
            await self._turn(session, what, self.create_words(session, size))

    async def _store_text(self, media: Media, words: str) -> None:
        from bot.features.media.store import MediaTexts
        from pipeline.media.documents import Part

        await MediaTexts(self.database).store_text(media, "lines", [Part("part 1", words)])

    async def _turn(self, session: Session, what: str, words: str) -> None:
        received = ReceivedUpdate(self.number, session.id, f'{{"text": "{words}"}}', str(self.number))
        await self.mailbox.inbox.receive([received])
        (item,) = [item for item in await self.mailbox.inbox.list_waiting() if item.update_id == self.number]
        if what == "held":
            await self.mailbox.inbox.hold([item.id])
            return
        await self.store.commit_turn(
            session,
            user(words, self.clock()),
            assistant(words[::-1] if what == "failed" else words, self.clock()),
            outcome=Outcome.FAILED if what == "failed" else Outcome.ANSWERED,
            inbox=(item.id,),
            reply=OutgoingReply("telegram", words),
        )

    async def end_all(self) -> None:
        """End all private talks and send waiting replies."""
        for chat in CHATS:
            await self.step(chat, "end", 1)
            await self.step(chat, "settle", 1)


def read_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
@settings(max_examples=20)
@given(STEPS)
async def test_random_steps_leave_no_byte_of_a_private_talk(steps: list[tuple[str, str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        clock = FakeClock()
        database = await Database.open(write_blank(Path(folder) / "mneme.db"), clock=clock)
        try:
            lives = TalkingChats(database, clock)
            said = 0
            for chat, what, size in steps:
                session = await lives.store.session(chat)
                await lives.step(chat, what, size)
                said += what in ("turn", "failed") and not session.private
                spoken = await database.rows("SELECT content FROM spoken")
                assert not any("hush" in row["content"] or "hsuh" in row["content"] for row in spoken)
                left = read_bytes(Path(folder))
                assert b"hushhush" not in left
                assert b"hsuhhsuh" not in left
            await lives.end_all()
            assert await database.value("SELECT count(*) FROM messages") == 2 * said
            for index in ("search", "search_parts"):
                await database.write(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")  # noqa: S608  # Constants.
        finally:
            await database.close()


async def test_button_press_is_stored_without_its_message() -> None:
    message = {"message_id": 43, "chat": {"id": 1, "type": "private"}, "date": 1, "text": "hushhush", "entities": []}
    update = {"update_id": 7, "callback_query": {"id": "1", "data": "x", "from": {"id": 1}, "message": message}}
    payload = RawUpdate.from_json(update).payload
    assert "hushhush" not in payload
    assert json.loads(payload)["callback_query"]["message"]["message_id"] == 43


async def test_private_talk_is_deleted_from_memory_at_its_end(database: Database, clock: FakeClock) -> None:
    lives = TalkingChats(database, clock)
    for what in ("turn", "private", "turn", "media", "held", "turn"):
        await lives.step("1", what, 5)
    session = await lives.store.session("1")
    before = await lives.store.sessions.read_transcript(session.id)
    assert [("hush" in m.content) for m in before.messages if m.role == "user"] == [False, True, True]
    await lives.step("1", "settle", 1)
    await lives.step("1", "end", 1)
    after = await lives.store.sessions.read_transcript(session.id)
    assert after.messages == before.messages[:2]
    memory = await database.private.get_memory_database()
    for table in ("messages", "turns", "media", "media_parts", "inbox", "outbox"):
        assert await memory.value(f"SELECT count(*) FROM {table}") == 0  # noqa: S608  # Constants.
    assert await lives.mailbox.inbox.list_waiting() == []


async def test_rebuilt_index_contains_nothing_of_a_private_talk(database: Database, clock: FakeClock) -> None:
    lives = TalkingChats(database, clock)
    for what in ("turn", "private", "turn", "media"):
        await lives.step("1", what, 5)
    async with database.transaction() as connection:
        await rebuild(connection)
    assert await database.value("SELECT count(*) FROM search WHERE search MATCH 'outloud1x0'") > 0
    assert await database.value("SELECT count(*) FROM search WHERE search MATCH 'hushhush2x0'") == 0
    assert await database.value("SELECT count(*) FROM search_parts WHERE search_parts MATCH 'hushhush4x0'") == 0


async def test_private_talk_survives_forget_all(database: Database, clock: FakeClock) -> None:
    lives = TalkingChats(database, clock)
    for what in ("turn", "private", "turn"):
        await lives.step("1", what, 5)
    files = MarkdownFiles(database.path.parent / "memory", in_utc, recent_days=7, max_memory_size=8192)
    await Forgetting(database, files, lives.traces).forget_all("telegram:1")
    assert (await lives.store.session("1")).private
    await lives.step("1", "turn", 5)
    await lives.end_all()
    assert b"hushhush" not in read_bytes(database.path.parent)
