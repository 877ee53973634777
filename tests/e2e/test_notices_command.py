"""Tests of /notices: unrequested messages with a sound, without one, or not at all."""

from __future__ import annotations

import pytest

from memory.store.entry import Kind, NewEntry
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders, needs_feature
from tests.support.reminding import CHAT, add_reminder, get_memory
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_labels, list_texts, press


def was_silent(telegram: BotApiServer, text: str) -> bool:
    """Return whether the message with the text was sent without a sound."""
    (call,) = [one for one in telegram.list_calls("sendMessage") if text in str(one.params["text"])]
    return bool(call.params.get("disable_notification"))


async def test_notices_command_shows_the_mode_and_edits_its_message(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.user_says("/notices", chat_id=ANN)
        await telegram.wait_for(lambda: list_labels(telegram))
        assert list_labels(telegram)[:3] == ["✓ On", "Quiet", "Off"]
        press(telegram, "Off")
        await telegram.wait_for(lambda: list_labels(telegram)[:3] == ["On", "Quiet", "✓ Off"])
        assert len(list_texts(telegram)) == 1
        assert "Notices are off" in list_texts(telegram)[0]


@needs_feature("reminders")
async def test_notices_off_prevents_offers_but_not_requested_messages(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, reminded_often: None
) -> None:
    async with serve() as app:
        telegram.user_says("/notices off", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram))
        memory = get_memory(app)
        await memory.preferences.load()
        await memory.entries.add(CHAT, NewEntry("Ann's birthday is 14 February", kind=Kind.FACT))
        assert await find_reminders(app).near.offer(memory.notices_of.is_enabled) == 0
        await add_reminder(app, "tea", "2026-02-07T13:00")
        clock.forward(hours=1)
        await telegram.wait_for(lambda: any("tea" in text for text in list_texts(telegram)))
        assert not was_silent(telegram, "tea")


@pytest.mark.parametrize("chosen", ["on", "quiet"])
async def test_notices_quiet_sends_unrequested_messages_silently(
    serve: Serve, telegram: BotApiServer, chosen: str
) -> None:
    async with serve():
        telegram.user_says(f"/notices {chosen}", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram))
        telegram.user_says("Hello?", chat_id=STRANGER, first_name="Bob")
        await telegram.wait_for(lambda: any("would like to use this bot" in text for text in list_texts(telegram)))
        assert was_silent(telegram, "would like to use this bot") is (chosen == "quiet")
        assert not was_silent(telegram, "Notices are")


async def test_group_notices_are_set_by_managers_only(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("/notices off", chat_id=GROUP, user_id=4004, chat_type="supergroup")
        await telegram.wait_for(lambda: list_texts(telegram, GROUP))
        assert "only administrators" in list_texts(telegram, GROUP)[0]


async def test_notices_with_an_unknown_word_is_refused(start: OpenApp) -> None:
    async with start() as app:
        assert await Person(app).says("/notices loud") == "Send /notices on, /notices quiet or /notices off."
