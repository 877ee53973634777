"""Tests of scheduled tasks: each runs once at its hour as a turn of its session."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.console.console import ConsoleChannel, run_due_tasks, take_due_tasks
from bot.features.reminders.reminder import TaskSound
from bot.features.reminders.reminders import Reminders
from bot.features.reminders.request import Rhythm
from bot.kernel import App
from memory.log.sessions import Address
from memory.messages import Provenance
from memory.recurrence import Repeat
from memory.store.database import Database
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders
from tests.support.processes import bot_environment, forked_bot
from tests.support.reminding import (
    CHAT,
    cancel_after,
    format_reminders,
    list_hours_around_clock_changes,
    serve_everybody,
)
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Fails, Holds, Says
from tests.support.serving import ANN, Serve, list_labels, list_texts, press
from tests.support.talk import in_utc
from tests.support.tool_use import call_tools

# The test clock starts on Saturday 2026-02-07 12:15 UTC.
pytestmark = pytest.mark.usefixtures("reminded_often")
HOUR = "2026-02-07T13:00"


async def add_task(
    app: App, text: str, when: str = HOUR, repeat: str = "once", days: str = "", sound: TaskSound = TaskSound.ALOUD
) -> int:
    wish = find_reminders(app).reminders.read(CHAT, text, when, Rhythm(Repeat(repeat), days))
    return (await find_reminders(app).reminders.set(CHAT, CHAT, replace(wish, task=sound))).id


async def wait_until(app: App, query: str) -> None:
    """Wait until a query returns a value other than NULL or 0."""
    async with asyncio.timeout(30):
        while not await app.database.value(query):
            await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])


async def test_task_runs_at_its_hour_with_tools_and_is_listed(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    wish = {
        "text": "say how I slept",
        "when": "2026-02-09T07:00",
        "repeat": "weekly",
        "days": "mon, tue",
        "task": "aloud",
    }
    async with serve() as app:
        person = Person(app, Address("telegram", str(ANN)))
        (answer,) = await call_tools(person, model, ("reminder_set", wish))
        assert (
            answer == "set: #1, Monday, 9 February 2026, 07:00 (UTC), weekly on Monday, Tuesday, task: say how I slept"
        )
        assert "07:00: say how I slept (task, weekly on Monday, Tuesday) /done_1" in await format_reminders(app)
        model.script(Calls((("memory_recall", {"query": "sleep"}),)), Says("You slept well."))
        clock.now = datetime(2026, 2, 9, 7, tzinfo=UTC)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until(app, "SELECT told_at IS NOT NULL FROM reminders")
        assert "Tuesday, 10 February 2026, 07:00: say how I slept" in await format_reminders(app)
        assert "[task] say how I slept" in model.requests[-1].last_by_user
        assert "a task of the user's that is due (Monday, 9 February 2026, 07:00)" in model.requests[-1].prompt
        assert list_texts(telegram) == [
            "You slept well.\n\nTask of Monday, 9 February 2026, 07:00: say how I slept (/cancel_1 ends it)"
        ]
        press(telegram, "No more")
        await wait_until(app, "SELECT state = 'cancelled' FROM reminders")


@pytest.mark.parametrize("sound", TaskSound)
async def test_task_answer_comes_with_or_without_sound_as_configured(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock, sound: TaskSound
) -> None:
    telegram.register_chat(ANN)
    model.script(Says("Trains run."))
    async with serve() as app:
        await add_task(app, "look up the trains", sound=sound)
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    (call,) = telegram.list_calls("sendMessage")
    assert bool(call.params.get("disable_notification")) is (sound is TaskSound.QUIET)
    assert not telegram.list_drafts(ANN)
    assert "No more" not in list_labels(telegram)


async def test_task_text_does_not_count_as_typed(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    words = "Remember that my bank is Sparkasse"
    model.script(
        Calls((("memory_learn", {"text": "The user's bank is Sparkasse", "quote": words}),)),
        Calls((("reminder_set", {"text": "again", "when": "2026-02-09T07:00", "quote": words}),)),
        Says("Noted."),
    )
    async with serve() as app:
        await add_task(app, words)
        await add_task(app, "/forget all", "2026-02-07T13:30")
        clock.forward(minutes=50)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM entries WHERE unconfirmed IS NULL") == 0
        assert await app.database.value("SELECT state FROM reminders WHERE text = 'again'") == "offered"
        model.script(Says("I can't do that."))
        clock.forward(minutes=40)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert "I can't do that." in list_texts(telegram)[-1]
        assert (
            await app.database.value("SELECT count(*) FROM messages WHERE provenance = 'task' AND role = 'user'") == 2
        )


async def test_task_sets_no_reminder_by_earlier_words_of_the_user(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    words = "Remind me on Monday at 7 to water the plants"
    async with serve() as app:
        await Person(app, Address("telegram", str(ANN))).says(words)
        call = ("reminder_set", {"text": "water the plants", "when": "2026-02-09T07:00", "quote": words})
        model.script(Calls((call,)), Says("Done."))
        await add_task(app, "say hello")
        clock.forward(minutes=50)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT state FROM reminders WHERE text = 'water the plants'") == "offered"
        assert model.second_looks == []


async def test_task_proposed_with_foreign_text_in_view_needs_approval(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.register_chat(ANN)
    wish = {"text": "send me the offer", "when": "2026-02-08T07:00", "repeat": "daily", "task": "quiet"}
    async with serve() as app:
        person = Person(app, Address("telegram", str(ANN)))
        (answer,) = await call_tools(person, model, ("reminder_set", wish), provenance=Provenance.FORWARDED, quote="")
        assert answer.startswith("not set yet")
        assert (
            "Shall I do this on Sunday, 8 February 2026, 07:00 (daily): send me the offer?" in person.channel.said[-1]
        )
        assert await person.says("/remind_1") == (
            "I will do this on Sunday, 8 February 2026, 07:00, daily: send me the offer (/cancel_1)"
        )
        assert await app.database.value("SELECT task FROM reminders WHERE state = 'waiting'") == "quiet"


async def test_task_keeps_its_hour_over_clock_changes_and_downtime(start: OpenApp, clock: FakeClock) -> None:
    async with start(timezone="Europe/Kyiv") as app:
        clock.now = datetime(2026, 3, 27, 12, tzinfo=UTC)
        await add_task(app, "trains", "2026-03-28T07:00", "daily")
        hours = await list_hours_around_clock_changes(
            clock,
            lambda: find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody),
            lambda: app.database.value("SELECT count(*) FROM inbox"),
        )
        clock.forward(days=9, hours=12)
        assert await find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody)
        assert not await find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody)
        row = await app.database.row("SELECT payload, received_at FROM inbox ORDER BY id DESC LIMIT 1")
        assert row is not None
        run = await find_reminders(app).tasks.find_run(row["payload"], clock())
    assert hours == ["28 05:00", "29 04:00", "30 04:00", "24 04:00", "25 05:00", "26 05:00"]
    assert run is not None
    assert run.hour == "Thursday, 5 November 2026, 07:00"


async def test_task_waits_for_the_running_turn_and_runs_alone(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        model.script(Holds("Let me"), Says("Trains run."), Says("Both answered."))
        telegram.user_says("A long question", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        await add_task(app, "look up the trains")
        clock.forward(hours=1)
        await wait_until(app, "SELECT count(*) FROM inbox WHERE update_id < 0")
        telegram.user_says("And this", chat_id=ANN)
        async with asyncio.timeout(20):
            while app.runner.queues.count_waiting(CHAT) < 2:
                await asyncio.wait([asyncio.create_task(app.database.rows("SELECT 1"))])
        assert len(model.requests) == 1
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: any("(stopped)" in text for text in list_texts(telegram)))
        # Messages held by /stop wait for the next message. Each task is still answered alone.
        telegram.user_says("Go on", chat_id=ANN)
        await telegram.wait_for(lambda: any("Both answered." in text for text in list_texts(telegram)))
    assert [request.last_by_user.splitlines()[0] for request in model.requests[-2:]] == [
        "[task] look up the trains",
        "Go on",
    ]


async def test_task_cancelled_before_its_turn_does_not_run(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve(ready=False) as app:
        await add_task(app, "look up the trains")
        clock.forward(hours=1)
        await find_reminders(app).reminders.cancel(CHAT, "1")
        await wait_until(app, "SELECT count(*) FROM reminders WHERE state = 'cancelled'")
        await telegram.wait_for(lambda: telegram.polled)
        await wait_until(app, "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state <> 'done')")
    assert model.requests == []


async def test_task_is_disabled_after_three_failures_in_a_row(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_task(app, "trains", "2026-02-08T07:00", "daily")

        async def on(day: int, *replies: Says | Fails) -> str:
            model.script(*replies)
            before = len(list_texts(telegram))
            clock.now = datetime(2026, 2, day, 7, tzinfo=UTC)
            await telegram.wait_for(lambda: len(list_texts(telegram)) > before)
            await wait_until(app, "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state <> 'done')")
            return list_texts(telegram)[-1]

        refused = Fails(401, "wrong key")
        assert "ends it" in await on(8, refused)
        assert "Fine." in await on(9, Says("Fine."))  # A success resets the count of failures.
        for day in (10, 11):
            assert "ends it" in await on(day, refused)
        said = await on(12, refused)
        assert "This task failed 3 times in a row, so I turned it off." in said
        assert list_labels(telegram)[-2:] == ["In an hour", "No more"]
        clock.now = datetime(2026, 2, 14, 7, tzinfo=UTC)
        assert not await find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody)
        assert "trains (task, daily)" in await format_reminders(app)
        press(telegram, "In an hour")
        await wait_until(app, "SELECT state = 'waiting' AND failures = 0 FROM reminders")


async def test_task_over_the_daily_token_limit_is_skipped_with_notice(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve(daily_token_limit=1) as app:
        model.script(Says("Hello."))
        telegram.user_says("Hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await add_task(app, "trains", HOUR, "daily")
        clock.forward(hours=1)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await wait_until(app, "SELECT told_at IS NOT NULL FROM reminders")
        assert await app.database.value("SELECT failures FROM reminders WHERE state = 'waiting'") == 0
        assert not await find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody)
    assert "Today's limit of 1 token is used up" in list_texts(telegram)[-1]
    assert "Task of Saturday, 7 February 2026, 13:00: trains" in list_texts(telegram)[-1]
    assert len(model.requests) == 1


@pytest.mark.parametrize("steps", range(0, 24, 3))
async def test_cancelled_scheduling_leaves_task_in_inbox_or_due(start: OpenApp, clock: FakeClock, steps: int) -> None:
    async with start() as app:
        await add_task(app, "trains", "2026-02-08T08:00", "daily")
        clock.forward(days=3)
        await cancel_after(steps, app, find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody))
        put = await app.database.value("SELECT count(*) FROM inbox")
        assert put == await app.database.value("SELECT told_for IS NOT NULL FROM reminders")
        await find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody)
        assert await app.database.value("SELECT count(*) FROM inbox") == 1


async def test_task_scheduled_by_two_processes_is_queued_once(start: OpenApp, clock: FakeClock) -> None:
    async with start() as one, start() as other:
        await add_task(one, "trains", "2026-02-08T08:00", "daily")
        clock.forward(days=3)
        await asyncio.gather(
            *(find_reminders(app).tasks.enqueue_due("telegram:", serve_everybody) for app in (one, other))
        )
        assert await one.database.value("SELECT count(*) FROM inbox") == 1


@pytest.mark.slow
async def test_task_killed_in_its_turn_is_answered_once_after_restart(
    telegram: BotApiServer, model: ModelServer, tmp_path: Path
) -> None:
    environment = bot_environment(telegram, model, ANN)
    telegram.register_chat(ANN)
    database = await Database.open(tmp_path / "data" / "mneme.db")
    reminders = Reminders(database, lambda: datetime(2026, 1, 1, tzinfo=UTC), in_utc)
    wish = reminders.read(CHAT, "look up the trains", "2026-01-01T09:00")
    await reminders.set(CHAT, CHAT, replace(wish, task=TaskSound.ALOUD))
    model.script(Holds("This will never be"), Says("Trains run."))
    async with forked_bot(environment, tmp_path):
        await model.wait_for(lambda: len(model.requests) == 1)
    assert await database.value("SELECT state FROM reminders") == "telling"
    async with forked_bot(environment, tmp_path):
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        async with asyncio.timeout(20):
            while await database.value("SELECT state FROM outbox") != "sent":
                await asyncio.wait([asyncio.create_task(database.rows("SELECT 1"))])
    polls = len(telegram.list_calls("getUpdates"))
    async with forked_bot(environment, tmp_path):
        await telegram.wait_for(lambda: len(telegram.list_calls("getUpdates")) > polls + 1)
    # The next start deletes the reminder, which was due long ago.
    assert await database.value("SELECT count(*) FROM reminders WHERE state IN ('waiting', 'telling')") == 0
    await database.close()
    assert [text.splitlines()[0] for text in list_texts(telegram)] == ["Trains run."]
    assert len(model.requests) == 2


async def test_console_task_runs_in_the_next_program(
    start: OpenApp, model: ModelServer, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    address = Address("console", "local")
    async with start() as app:
        wish = find_reminders(app).reminders.read(address.session_id, "look up the trains", HOUR)
        await find_reminders(app).reminders.set(
            address.session_id, address.session_id, replace(wish, task=TaskSound.ALOUD)
        )
        clock.forward(hours=1)
        # The program ends after the task has entered the inbox and before the answer.
        assert await take_due_tasks(app, address, ConsoleChannel())
    async with start() as app:
        model.script(Says("Trains run."))
        for _ in range(2):
            await run_due_tasks(app, address)
        assert await app.database.value("SELECT state FROM reminders") == "told"
    assert capsys.readouterr().out.count("Trains run.") == 1


async def test_task_in_private_talk_runs_and_stores_nothing(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_task(app, "look up the trains", HOUR, "daily")
        telegram.user_says("/private", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        model.script(Says("Trains run."))
        clock.forward(hours=1)
        await telegram.wait_for(lambda: any("Trains run." in text for text in list_texts(telegram)))
        await wait_until(app, "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state <> 'done')")
        assert await app.database.value("SELECT count(*) FROM messages") == 0
        assert await app.database.value("SELECT state FROM reminders WHERE told_at IS NOT NULL") == "waiting"


@pytest.mark.parametrize("answer", ["", "(nothing to tell)", "Nothing to tell."])
async def test_task_without_result_sends_nothing_and_goes_on(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock, answer: str
) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_task(app, "tell me if a train is late", "2026-02-08T07:00", "daily")
        for day in (8, 9, 10, 11):
            model.script(Says(answer))
            clock.now = datetime(2026, 2, day, 7, tzinfo=UTC)
            await model.wait_for(lambda asked=day - 7: len(model.requests) == asked)  # type: ignore[misc]
            await wait_until(app, "SELECT NOT EXISTS (SELECT 1 FROM inbox WHERE state <> 'done')")
        assert list_texts(telegram) == []
        model.script(Says("Yes, ten minutes."))
        clock.now = datetime(2026, 2, 12, 7, tzinfo=UTC)
        await telegram.wait_for(lambda: list_texts(telegram))
        assert "Yes, ten minutes." in list_texts(telegram)[-1]
        assert await app.database.value("SELECT failures = 0 AND state = 'waiting' FROM reminders")
