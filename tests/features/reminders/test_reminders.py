"""Tests of reminders (F24): at their hour in the chat's zone, exactly once."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.features.reminders.reminders import Reminders
from memory.clock import to_text
from memory.log.sessions import Address
from memory.store.database import Database
from tests.conftest import OpenApp
from tests.e2e.conftest import WallClock
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders
from tests.support.processes import bot_environment, forked_bot
from tests.support.reminding import (
    CHAT,
    add_reminder,
    cancel_after,
    format_reminders,
    list_hours_around_clock_changes,
    serve_everybody,
)
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, Serve, list_labels, list_texts, press
from tests.support.talk import in_utc

# The test clock starts on Saturday 2026-02-07 12:15 UTC.
pytestmark = pytest.mark.usefixtures("reminded_often")


async def test_f24_reminder_comes_once_at_its_hour_and_is_confirmed(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve(timezone="Europe/Kyiv") as app:
        await add_reminder(app, "call Ann", "2026-02-07T15:00")
        clock.now = datetime(2026, 2, 7, 12, 59, tzinfo=UTC)
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == []
        clock.forward(minutes=1)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        while await app.database.value("SELECT state FROM reminders") == "telling":
            pass
        row = await app.database.row("SELECT state, next_at, told_at FROM reminders")
        assert row is not None
        assert tuple(row) == ("told", None, to_text(clock()))
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == []
    assert list_texts(telegram) == [
        "Reminder: call Ann\n\nSaturday, 7 February 2026, 15:00\n\n/done_1 or /snooze_1 for an hour."
    ]


@pytest.mark.parametrize(
    ("label", "answer", "state"),
    [("Done", "Done: call Ann", "done"), ("In an hour", "I will remind you again on", "waiting")],
)
async def test_reminder_buttons_work(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, label: str, answer: str, state: str
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_reminder(app, "call Ann", "2026-02-07T15:00")
        clock.now = datetime(2026, 2, 7, 15, 0, tzinfo=UTC)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert list_labels(telegram) == ["Done", "In an hour", "Tomorrow"]
        press(telegram, label)
        await telegram.wait_for(lambda: any(answer in text for text in list_texts(telegram)))
        await telegram.wait_for(lambda: list_labels(telegram) == [])
        assert await app.database.value("SELECT state FROM reminders") == state


async def test_f24_daily_reminder_keeps_its_hour_over_clock_changes(start: OpenApp, clock: FakeClock) -> None:
    async with start(timezone="Europe/Kyiv") as app:
        clock.now = datetime(2026, 3, 27, 12, tzinfo=UTC)
        await add_reminder(app, "pills", "2026-03-28T09:00", "daily")
        hours = await list_hours_around_clock_changes(
            clock,
            lambda: find_reminders(app).delivery.deliver("telegram", serve_everybody),
            lambda: app.database.value("SELECT count(*) FROM outbox"),
        )
    assert hours == ["28 07:00", "29 06:00", "30 06:00", "24 06:00", "25 07:00", "26 07:00"]


async def test_f24_reminder_missed_in_a_downtime_comes_once_at_start(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_reminder(app, "call Ann", "2026-02-10T09:00")
        await add_reminder(app, "pills", "2026-02-08T08:00", "daily")
        await add_reminder(app, "later", "2026-02-20T08:00")
    clock.now = datetime(2026, 2, 10, 12, 10, tzinfo=UTC)
    async with serve() as app:
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        while await app.database.value("SELECT count(*) FROM outbox WHERE state = 'waiting'"):
            pass
        listed = await format_reminders(app)
    assert "Reminder: pills\n\nTuesday, 10 February 2026, 08:00 (due 4 h ago, missed 2 times before that)" in "\n".join(
        list_texts(telegram)
    )
    assert "Reminder: call Ann\n\nTuesday, 10 February 2026, 09:00 (due 3 h ago)" in "\n".join(list_texts(telegram))
    assert listed.splitlines()[4:] == [
        "Delivered in the last day:",
        "- call Ann /done_1 /snooze_1 /cancel_1",
        "",
        "_Times are in UTC._",
    ]
    assert listed.splitlines()[:3] == [
        "Upcoming:",
        "- Wednesday, 11 February 2026, 08:00: pills (daily) /done_2 /snooze_2 /cancel_2",
        "- Friday, 20 February 2026, 08:00: later /done_3 /snooze_3 /cancel_3",
    ]
    async with serve() as app:
        await telegram.wait_for(lambda: telegram.polled)
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == []
    assert len(list_texts(telegram)) == 2


@pytest.mark.slow
async def test_f24_reminder_killed_around_sending_comes_once(
    telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    environment = bot_environment(telegram, model, ANN)
    telegram.register_chat(ANN)
    database = await Database.open(tmp_path / "data" / "mneme.db")
    reminders = Reminders(database, lambda: datetime(2026, 1, 1, tzinfo=UTC), in_utc)
    await reminders.set(CHAT, CHAT, reminders.read(CHAT, "call Ann", "2026-01-01T09:00"))
    # Kill the bot while it sends the message, before Telegram accepts it.
    telegram.fault("sendMessage", stall=True)
    async with forked_bot(environment, tmp_path):
        await telegram.wait_for(lambda: telegram.list_calls("sendMessage"))
    row = await database.row("SELECT state, told_at FROM reminders")
    assert row is not None
    assert tuple(row) == ("telling", None)
    telegram.clear_faults()
    # Kill the bot after it has sent the message.
    async with forked_bot(environment, tmp_path):
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        async with asyncio.timeout(20):
            while await database.value("SELECT state FROM reminders") != "told":
                await asyncio.wait([asyncio.create_task(database.rows("SELECT 1"))])
    polls = len(telegram.list_calls("getUpdates"))
    async with forked_bot(environment, tmp_path):
        await telegram.wait_for(lambda: len(telegram.list_calls("getUpdates")) > polls + 1)
    await database.close()
    assert [text.splitlines()[0] for text in list_texts(telegram)] == ["Reminder: call Ann"]
    assert re.search(r"\(due \d+ days ago\)", list_texts(telegram)[0])


@pytest.mark.parametrize("steps", range(0, 24, 2))
async def test_cancelled_delivery_writes_message_and_state_or_neither(
    start: OpenApp, clock: FakeClock, steps: int
) -> None:
    async with start() as app:
        await add_reminder(app, "pills", "2026-02-08T08:00", "daily")
        clock.forward(days=3)
        await cancel_after(steps, app, find_reminders(app).delivery.deliver("telegram", serve_everybody))
        put = await app.database.value("SELECT count(*) FROM outbox")
        told = await app.database.value("SELECT told_for IS NOT NULL FROM reminders")
        assert put == told
        await find_reminders(app).delivery.deliver("telegram", serve_everybody)
        await find_reminders(app).delivery.deliver("telegram", serve_everybody)
        assert await app.database.value("SELECT count(*) FROM outbox") == 1


async def test_reminder_is_sent_once_by_two_processes(start: OpenApp, clock: FakeClock) -> None:
    async with start() as one, start() as other:
        await add_reminder(one, "pills", "2026-02-08T08:00", "daily")
        clock.forward(days=3)
        told = await asyncio.gather(
            *(find_reminders(app).delivery.deliver("telegram", serve_everybody) for app in (one, other))
        )
        assert sorted(map(len, told)) == [0, 1]


async def test_reminder_for_a_user_who_blocked_the_bot_comes_later(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    telegram.fault("sendMessage", error_code=403, description="Forbidden: bot was blocked by the user")
    async with serve() as app:
        await Person(app, Address("telegram", str(ANN))).says("hello")
        await add_reminder(app, "call Ann", "2026-02-07T13:00")
        clock.forward(hours=1)
        async with asyncio.timeout(20):
            while await app.database.value("SELECT state FROM sessions") != "TERMINATED":
                await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == []
        telegram.clear_faults()
        clock.forward(hours=2)
        telegram.user_says("I am back", chat_id=ANN)
        await telegram.wait_for(lambda: any("call Ann" in text for text in list_texts(telegram)))
    assert "(due 2 h ago)" in next(text for text in list_texts(telegram) if "call Ann" in text)


async def test_reminder_refused_permanently_is_shown_as_undelivered(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    telegram.fault("sendMessage", error_code=400, description="Bad Request: PEER_ID_INVALID")
    async with serve() as app:
        await add_reminder(app, "call Ann", "2026-02-07T13:00")
        clock.forward(hours=1)
        async with asyncio.timeout(20):
            while await app.database.value("SELECT state FROM reminders") != "failed":
                await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])
        assert "Could not be delivered:\n- call Ann /done_1 /snooze_1 /cancel_1" in await format_reminders(app)


async def test_f35_clock_changes_neither_stop_nor_repeat_reminders(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, wall_clock: WallClock
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_reminder(app, "pills", "2026-02-07T13:00", "daily")
        wall_clock.forward(hours=-1)
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        # The clock is set forward by mistake, and back again.
        for hours in (48, -48):
            wall_clock.forward(hours=hours)
            clock.forward(hours=hours)
            await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        wall_clock.forward(hours=-1)
        clock.forward(days=4)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert all("pills" in text for text in list_texts(telegram))
