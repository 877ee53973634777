"""Tests of inbox and outbox: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import asyncio
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.jobs.background import return_at_once
from bot.jobs.scheduled import Maintenance
from bot.tasks import BackgroundTasks
from memory.mail.inbox import InboxItem, ReceivedUpdate
from memory.mail.mailbox import Mailbox
from memory.mail.pruning import Pruning
from memory.runtime.usage import TokenUse, UsageLog
from memory.store.button_rows import OutgoingReply
from memory.store.database import Database
from memory.store.erasure import PendingErasures
from memory.store.integrity import IntegrityCheck
from tests.conftest import OpenApp
from tests.support.fakes import FakeClock
from tests.support.talk import create_ledger

CHAT = "telegram:12345"


@pytest.fixture
def mailbox(database: Database, clock: FakeClock) -> Mailbox:
    """Return Telegram's mailbox."""
    return Mailbox(database, "telegram", clock)


class SignallingPruning(Pruning):
    """Pruning that signals each run."""

    def __init__(self, database: Database, clock: FakeClock) -> None:
        super().__init__(database, clock)
        self.done = asyncio.Event()

    async def prune(self) -> int:
        pruned = await super().prune()
        self.done.set()
        return pruned


def create_updates(*ids: int, session: str = CHAT) -> list[ReceivedUpdate]:
    return [ReceivedUpdate(i, session, f'{{"update_id": {i}}}') for i in ids]


async def receive_new(mailbox: Mailbox, *received: ReceivedUpdate) -> list[InboxItem]:
    """Receive updates and return the new items."""
    before = await mailbox.inbox.list_waiting()
    await mailbox.inbox.receive(received)
    return [item for item in await mailbox.inbox.list_waiting() if item not in before]


async def list_waiting_ids(mailbox: Mailbox) -> list[int]:
    return [item.update_id for item in await mailbox.inbox.list_waiting()]


async def test_repeated_update_is_stored_once(mailbox: Mailbox) -> None:
    await mailbox.inbox.receive(create_updates(7, 8, 7))
    await mailbox.inbox.receive(create_updates(8, 9))
    assert await list_waiting_ids(mailbox) == [7, 8, 9]


async def test_answered_update_is_not_new_when_repeated(mailbox: Mailbox) -> None:
    (item,) = await receive_new(mailbox, *create_updates(7))
    await mailbox.inbox.finish([item.id])
    await mailbox.inbox.receive(create_updates(7))
    assert await list_waiting_ids(mailbox) == []


async def test_concurrent_pollers_store_each_update_once(mailbox: Mailbox) -> None:
    await asyncio.gather(*(mailbox.inbox.receive(create_updates(1, 2, 3)) for _ in range(5)))
    assert await list_waiting_ids(mailbox) == [1, 2, 3]


async def test_received_updates_are_what_a_restart_finds(mailbox: Mailbox) -> None:
    received = await receive_new(mailbox, *create_updates(7), *create_updates(8, session="telegram:12345:9"))
    assert [(item.session_id, item.payload, item.held) for item in received] == [
        (CHAT, '{"update_id": 7}', False),
        ("telegram:12345:9", '{"update_id": 8}', False),
    ]


async def test_waiting_mail_and_unsent_replies_survive_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    before = await Database.open(tmp_path / "mneme.db")
    mailbox = Mailbox(before, "telegram", clock)
    (item, _) = await receive_new(mailbox, *create_updates(7, 8))
    await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", "Hello", reply_to="41"), [item.id])
    await before.close()
    again = await Database.open(tmp_path / "mneme.db")
    mailbox = Mailbox(again, "telegram", clock)
    assert await list_waiting_ids(mailbox) == [8]
    assert [(reply.text, reply.reply_to) for reply in await mailbox.outbox.list_unsent()] == [("Hello", "41")]
    await again.close()


async def test_held_mail_stays_held_until_done(database: Database, mailbox: Mailbox, clock: FakeClock) -> None:
    first, second = await receive_new(mailbox, *create_updates(7, 8))
    await mailbox.inbox.hold([first.id])
    assert [(i.update_id, i.held) for i in await Mailbox(database, "telegram", clock).inbox.list_waiting()] == [
        (7, True),
        (8, False),
    ]
    await mailbox.inbox.finish([first.id, second.id])
    await mailbox.inbox.hold([first.id])  # Finished mail stays finished.
    assert await list_waiting_ids(mailbox) == []


async def test_private_mail_being_written_is_not_treated_as_lost(mailbox: Mailbox, database: Database) -> None:
    await database.private.begin(CHAT)
    memory = await database.private.get_memory_database()
    async with memory.transaction():  # The row is in the file before its text is in memory.
        receiving = asyncio.create_task(mailbox.inbox.receive(create_updates(1)))
        async with asyncio.timeout(20):
            while not await database.value("SELECT count(*) FROM inbox"):  # noqa: ASYNC110  # There is no event to wait for.
                await asyncio.sleep(0)
        looking = asyncio.create_task(mailbox.inbox.list_waiting())
        for _ in range(5):  # Connections answer in turn, so a reader that doesn't wait is finished by then.
            await database.value("SELECT 1")
            await memory.value("SELECT 1")
    await receiving
    assert [(item.payload, item.is_lost) for item in await looking] == [(create_updates(1)[0].payload, False)]


async def test_channels_have_separate_mail(database: Database, mailbox: Mailbox, clock: FakeClock) -> None:
    other = Mailbox(database, "other", clock)
    await mailbox.inbox.receive(create_updates(7))
    await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", "to Telegram"))
    await other.inbox.receive(create_updates(7))
    assert await list_waiting_ids(other) == [7]
    assert await other.outbox.list_unsent() == []
    assert await list_waiting_ids(mailbox) == [7]


async def test_replies_are_sent_in_order(mailbox: Mailbox) -> None:
    for text in ("one", "two", "three"):
        await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", text))
    await mailbox.outbox.answer("telegram:99", OutgoingReply("telegram", "elsewhere"))
    assert [item.text for item in await mailbox.outbox.list_unsent(CHAT)] == ["one", "two", "three"]
    assert [item.text for item in await mailbox.outbox.list_unsent()] == ["one", "two", "three", "elsewhere"]


async def test_partially_sent_reply_remembers_its_chunks(mailbox: Mailbox) -> None:
    await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", "a long reply"))
    (reply,) = await mailbox.outbox.list_unsent()
    await mailbox.outbox.record_sent_chunk(reply, ("41", "42"))
    (reply,) = await mailbox.outbox.list_unsent()
    assert reply.message_ids == ("41", "42")
    await mailbox.outbox.settle(reply, ("41", "42", "43"))
    assert await mailbox.outbox.list_unsent() == []


async def test_abandoned_reply_keeps_the_reason(database: Database, mailbox: Mailbox) -> None:
    await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", "to somebody who blocked the bot"))
    (reply,) = await mailbox.outbox.list_unsent()
    await mailbox.outbox.settle(reply, (), failure="bot was blocked by the user")
    assert await mailbox.outbox.list_unsent() == []
    row = await database.row("SELECT state, failure FROM outbox")
    assert row is not None
    assert tuple(row) == ("given up", "bot was blocked by the user")


async def test_old_mail_and_usage_are_pruned_but_never_waiting_mail(
    database: Database, mailbox: Mailbox, clock: FakeClock
) -> None:
    usage = UsageLog(database, clock, ZoneInfo("UTC"))
    items = await receive_new(mailbox, *create_updates(1, 2, 3))
    await mailbox.inbox.finish([items[0].id])
    await mailbox.inbox.hold([items[1].id])
    for text in ("sent", "given up", "waits"):
        await mailbox.outbox.answer(CHAT, OutgoingReply("telegram", text))
    sent, given_up, _ = await mailbox.outbox.list_unsent()
    await mailbox.outbox.settle(sent, ())
    await mailbox.outbox.settle(given_up, (), failure="blocked")
    await usage.record(TokenUse("m", "turn", 1, 1))
    pruning = Pruning(database, clock)
    clock.forward(days=29)
    assert await pruning.prune() == 0
    (late,) = await receive_new(mailbox, *create_updates(4))
    await mailbox.inbox.finish([late.id])
    clock.forward(days=2)
    assert await pruning.prune() == 4
    assert await list_waiting_ids(mailbox) == [2, 3]
    assert [item.text for item in await mailbox.outbox.list_unsent()] == ["waits"]
    assert await database.value("SELECT count(*) FROM inbox") == 3
    assert await database.value("SELECT count(*) FROM usage") == 0


async def test_old_mail_is_pruned_at_the_start_and_daily(
    start: OpenApp, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.jobs.scheduled.DAY_SECONDS", 0.01)
    async with start() as app:
        mailbox = Mailbox(app.database, "telegram", clock)
        await mailbox.inbox.finish(item.id for item in await receive_new(mailbox, *create_updates(1)))
    clock.forward(days=31)
    async with start() as app:
        assert await app.database.value("SELECT count(*) FROM inbox") == 0
        mailbox = Mailbox(app.database, "telegram", clock)
        await mailbox.inbox.finish(item.id for item in await receive_new(mailbox, *create_updates(2)))
        clock.forward(days=31)
        pruning = SignallingPruning(app.database, clock)
        keeping = Maintenance(
            pruning,
            create_ledger(app.database, clock),
            IntegrityCheck(app.database),
            PendingErasures(app.database),
        )
        tasks = BackgroundTasks()
        keeping.start(tasks, return_at_once)
        async with asyncio.timeout(20):
            await pruning.done.wait()
        await tasks.close()
        assert await app.database.value("SELECT count(*) FROM inbox") == 0
