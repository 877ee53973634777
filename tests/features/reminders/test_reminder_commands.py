"""Tests of the reminder commands, of ownership, and of the end of reminders."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.kernel import App
from memory.log.sessions import Address
from memory.mail.mailbox import Mailbox
from memory.mail.pruning import Pruning
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders
from tests.support.reminding import add_reminder, format_reminders, get_memory, serve_everybody
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, Says
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts
from tests.support.tool_use import OWNER

pytestmark = pytest.mark.usefixtures("reminded_often")


# Commands.


async def test_reminder_can_be_done_snoozed_and_cancelled(start: OpenApp, clock: FakeClock) -> None:
    async with start() as app:
        person = Person(app)
        await add_reminder(app, "tea", "2026-02-07T13:00", session=OWNER)
        await add_reminder(app, "pills", "2026-02-07T13:00", "daily", session=OWNER)
        clock.forward(hours=1)
        for due, _ in await find_reminders(app).delivery.list_due(OWNER):
            await find_reminders(app).delivery.mark_shown(due)
        assert "Delivered in the last day:\n- tea /done_1 /snooze_1 /cancel_1" in await person.says("/reminders")
        assert await person.says("/snooze_1") == ("I will remind you again on Saturday, 7 February 2026, 14:15: tea")
        assert await person.says("/snooze #2 30 min") == (
            "I will remind you again on Saturday, 7 February 2026, 13:45: pills"
        )
        assert await person.says("/snooze 2 soon") == (
            "A reminder can be snoozed for a time such as 10m, 2h or 1d, up to a year."
        )
        assert await person.says("/snooze 2 99999d") == await person.says("/snooze 2 0m")
        clock.forward(minutes=40)
        (due, text), *others = await find_reminders(app).delivery.list_due(OWNER)
        assert (due.reminder.text, others) == ("pills", [])
        assert "/cancel_2 ends it (daily)" in text
        await find_reminders(app).delivery.mark_shown(due)
        assert "Sunday, 8 February 2026, 13:00: pills (daily)" in await person.says("/reminders")
        assert await person.says("/done_2") == "Done: pills. The next one is on Sunday, 8 February 2026, 13:00."
        assert await person.says("/done_1") == "Done: tea"
        assert await person.says("/done_1") == "Reminder 1 is done: /reminders lists the open ones."
        assert await person.says("/cancel_2") == "Cancelled: pills"
        assert await person.says("/cancel 2") == "Reminder 2 is cancelled: /reminders lists the open ones."
        assert await person.says("/done") == "/done needs the number of a reminder: see /reminders."
        assert (await person.says("/remind")).startswith("Just tell me what to remind you of and when")
        clock.forward(days=30)
        assert await find_reminders(app).delivery.list_due(OWNER) == []
        assert await person.says("/reminders") == "You have no reminders: tell me what to remind you of and when."


async def test_reminders_keep_their_zone_after_a_zone_change(start: OpenApp) -> None:
    async with start(timezone="Europe/Kyiv") as app:
        await add_reminder(app, "tea", "2026-02-08T13:00", session=OWNER)
    async with start(timezone="America/New_York") as app:
        await add_reminder(app, "walk", "2026-02-08T09:00", session=OWNER)
        listed = await Person(app).says("/reminders")
    assert "- Sunday, 8 February 2026, 13:00 (Europe/Kyiv): tea" in listed
    assert "- Sunday, 8 February 2026, 09:00 (America/New_York): walk" in listed


async def test_reminder_survives_new(app: App, person: Person) -> None:
    await person.says("hello")
    await add_reminder(app, "tea", "2026-02-08T13:00", session=OWNER)
    await person.says("/new")
    assert "tea" in await person.says("/reminders")


# Owners, groups, the console.


async def test_reminders_of_other_owners_are_invisible_and_unchangeable(app: App, model: ModelServer) -> None:
    await add_reminder(app, "a secret", "2026-02-08T13:00")
    other = Person(app, Address("telegram", str(STRANGER)))
    assert await other.says("/reminders") == "You have no reminders: tell me what to remind you of and when."
    for command in ("/done_1", "/snooze_1", "/cancel_1", "/remind_1"):
        assert await other.says(command) == "There is no reminder 1: /reminders lists all reminders."
    model.script(Calls((("reminder_list", {}),)), Calls((("reminder_cancel", {"number": 1}),)), Says("Nothing."))
    await other.says("What is set?")
    assert [str(request.last) for request in model.requests[-2:]] == [
        "there are none",
        "error: There is no reminder 1: /reminders lists all reminders.",
    ]
    assert "a secret" in await format_reminders(app)


async def test_group_reminder_belongs_to_group_and_comes_in_its_topic(
    serve: Serve, telegram: BotApiServer, model: ModelServer, clock: FakeClock
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup")
    telegram.register_thread(GROUP, 7)
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        topic = Address("telegram", str(GROUP), "7")
        model.script(Calls((("reminder_set", {"text": "stand-up", "when": "2026-02-07T13:00"}),)), Says("Set."))
        await Person(app, topic).says("remind us")
        assert "stand-up" in await Person(app, Address("telegram", str(GROUP))).says("/reminders")
        assert "no reminders" in await Person(app, Address("telegram", str(ANN))).says("/reminders")
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
    (call,) = telegram.list_calls("sendMessage")
    assert (str(call.params["chat_id"]), str(call.params["message_thread_id"])) == (str(GROUP), "7")


async def test_group_with_a_new_id_keeps_its_reminders(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    former, present = -400, -100400
    telegram.register_chat(former, chat_type="group")
    telegram.register_chat(int(f"{former}1"), chat_type="group")
    async with serve(telegram_allowed_ids=f"{former},{former}1") as app:
        await add_reminder(app, "stand-up", "2026-02-07T13:00", session=f"telegram:{former}")
        await add_reminder(app, "theirs", "2026-02-07T13:00", session=f"telegram:{former}1")
        telegram.group_becomes(former, present)
        await telegram.wait_for(lambda: telegram.list_sent(present))
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(int(f"{former}1")))
    # Until now, the group was not admitted by its new id.
    async with serve(telegram_allowed_ids=f"{present}") as app:
        await telegram.wait_for(lambda: len(telegram.list_sent(present)) == 2)
        assert "stand-up" in await format_reminders(app, present)
        assert "theirs" in await format_reminders(app, int(f"{former}1"))
    assert "Reminder: stand-up" in list_texts(telegram, present)[1]
    assert telegram.list_sent(former) == []


async def test_revoked_user_gets_no_reminders(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    telegram.register_chat(ANN)
    telegram.register_chat(STRANGER)
    async with serve() as app:
        await add_reminder(app, "theirs", "2026-02-07T13:00", session=f"telegram:{STRANGER}")
        await add_reminder(app, "call Bob", "2026-02-07T13:00")
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT state FROM reminders WHERE text = 'theirs'") == "waiting"
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}"):
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
    assert len(telegram.list_calls("sendMessage")) == 2


async def test_reminder_due_before_a_group_migration_is_delivered(start: OpenApp, clock: FakeClock) -> None:
    async with start() as app:
        await add_reminder(app, "stand-up", "2026-02-07T13:00", session="telegram:-400")
        clock.forward(hours=1)
        await find_reminders(app).delivery.deliver("telegram", serve_everybody)
        mailbox = Mailbox(app.database, "telegram", clock)
        (item,) = await mailbox.outbox.list_unsent()
        await mailbox.outbox.settle(item, (), failure="group migrated")
        assert await app.database.value("SELECT state FROM reminders") == "failed"
        assert await app.memory.moving.move(Address("telegram", "-400"), Address("telegram", "-100400"))
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == ["telegram:-100400"]


async def test_console_shows_only_reminders_set_there(app: App, clock: FakeClock) -> None:
    await add_reminder(app, "tea", "2026-02-07T13:00", session=OWNER)
    await add_reminder(app, "theirs", "2026-02-07T13:00", session="console:localhost")
    await add_reminder(app, "elsewhere", "2026-02-07T13:00")
    clock.forward(hours=1)
    ((due, text),) = await find_reminders(app).delivery.list_due(OWNER)
    assert text.startswith("**Reminder**: tea\n\nSaturday, 7 February 2026, 13:00 (due 15 min ago)")
    assert len(await find_reminders(app).delivery.list_due(OWNER)) == 1, "it is due until it was shown"
    await find_reminders(app).delivery.mark_shown(due)
    assert await find_reminders(app).delivery.list_due(OWNER) == []


async def test_reminder_cancelled_while_shown_stays_cancelled(app: App, person: Person, clock: FakeClock) -> None:
    await add_reminder(app, "tea", "2026-02-07T13:00", "daily", session=OWNER)
    clock.forward(hours=1)
    ((due, _),) = await find_reminders(app).delivery.list_due(OWNER)
    await person.says("/cancel_1")
    await find_reminders(app).delivery.mark_shown(due)
    clock.forward(days=2)
    assert await find_reminders(app).delivery.list_due(OWNER) == []


async def test_hour_due_while_a_reminder_is_shown_is_kept(app: App, clock: FakeClock) -> None:
    await add_reminder(app, "tea", "2026-02-07T13:00", "daily", session=OWNER)
    clock.forward(hours=1)
    ((due, _),) = await find_reminders(app).delivery.list_due(OWNER)
    clock.forward(days=1)
    await find_reminders(app).delivery.mark_shown(due)
    ((due, _),) = await find_reminders(app).delivery.list_due(OWNER)
    assert due.at == datetime(2026, 2, 8, 13, tzinfo=UTC)


# The end of reminders.


async def test_forget_all_deletes_and_counts_reminders(app: App, person: Person) -> None:
    await add_reminder(app, "a lighthouse", "2026-02-08T13:00", session=OWNER)
    await add_reminder(app, "theirs", "2026-02-08T13:00")
    assert " and 1 reminder permanently" in await person.says("/forget all")
    assert (await person.says("/forget all confirm")).endswith("and 1 reminder.")
    rows = await app.database.rows("SELECT text FROM reminders")
    assert [row["text"] for row in rows] == ["theirs"]


async def test_export_of_an_owner_includes_reminders_which_come_after_import(
    start: OpenApp, clock: FakeClock, tmp_path: Path
) -> None:
    async with start() as app:
        await add_reminder(app, "pills", "2026-02-08T08:00", "daily", session=OWNER)
        await add_reminder(app, "theirs", "2026-02-08T08:00")
        await get_memory(app).portable.export(tmp_path / "export", OWNER)
    async with start(mneme_data_dir=tmp_path / "new") as app:
        await get_memory(app).importer.run(tmp_path / "export")
        clock.forward(days=2)
        ((due, _),) = await find_reminders(app).delivery.list_due(OWNER)
        assert (due.reminder.text, due.missed) == ("pills", 1)
        assert await find_reminders(app).delivery.deliver("telegram", serve_everybody) == []


async def test_finished_reminders_are_pruned_and_pending_ones_stay(app: App, person: Person, clock: FakeClock) -> None:
    for number, text in enumerate(("done", "cancelled", "told", "waiting"), 1):
        await add_reminder(app, text, "2027-02-07T13:00" if text == "waiting" else "2026-02-07T13:00", session=OWNER)
        if number < 3:
            await person.says(f"/{'done' if text == 'done' else 'cancel'}_{number}")
    clock.forward(hours=1)
    for due, _ in await find_reminders(app).delivery.list_due(OWNER):
        await find_reminders(app).delivery.mark_shown(due)
    clock.forward(days=29)
    await Pruning(app.database, clock).prune()
    assert await app.database.value("SELECT count(*) FROM reminders") == 4
    clock.forward(days=2)
    await Pruning(app.database, clock).prune()
    rows = await app.database.rows("SELECT text FROM reminders")
    assert [row["text"] for row in rows] == ["waiting"]
