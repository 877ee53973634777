"""Tests of reactions that answer a question of the bot or a reminder."""

from __future__ import annotations

import pytest

from bot.kernel import App
from memory.store.entry import Kind, NewEntry
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.reminding import add_reminder
from tests.support.serving import ANN, STRANGER, Serve, list_texts
from tests.support.talk import Store


async def ask_about_cat(app: App, telegram: BotApiServer, clock: FakeClock) -> int:
    """Have the bot ask about a memory that it isn't sure of. Return the id of its message."""
    unsure = NewEntry("Ann has a cat", name="cat", kind=Kind.FACT, unconfirmed="you didn't say it")
    await Store.create(app.database, clock).entries.add(f"telegram:{ANN}", unsure)
    telegram.user_says("/memory unsure", chat_id=ANN)
    await telegram.wait_for(lambda: telegram.list_sent(ANN))
    return telegram.list_sent(ANN)[-1].message_id


@pytest.mark.parametrize(("emoji", "kept", "unsure"), [("👍", 1, 0), ("👎", 0, 0), ("🔥", 1, 1)])
async def test_thumb_confirms_or_forgets(
    serve: Serve, telegram: BotApiServer, clock: FakeClock, emoji: str, kept: int, unsure: int
) -> None:
    async with serve() as app:
        message = await ask_about_cat(app, telegram, clock)
        telegram.user_reacts(emoji, message, chat_id=ANN)
        telegram.user_says("Hello.", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: Hello." in list_texts(telegram))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        entries = await Store.create(app.database, clock).entries.list(f"telegram:{ANN}", Kind.FACT)
        assert len(entries) == kept
        assert sum(entry.unconfirmed is not None for entry in entries) == unsure


@pytest.mark.usefixtures("reminded_often")
@needs_feature("reminders")
async def test_thumb_under_a_reminder_means_done(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    telegram.register_chat(ANN)
    async with serve() as app:
        await add_reminder(app, "call Ann", "2026-02-07T13:00")
        clock.forward(hours=1)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_reacts("👍", telegram.list_sent(ANN)[-1].message_id, chat_id=ANN)
        await telegram.wait_for(lambda: "Done" in list_texts(telegram)[-1])
        assert await app.database.value("SELECT state FROM reminders") == "done"


async def test_reaction_of_a_stranger_does_nothing(serve: Serve, telegram: BotApiServer, clock: FakeClock) -> None:
    async with serve() as app:
        message = await ask_about_cat(app, telegram, clock)
        telegram.user_reacts("👎", message, chat_id=ANN, user_id=STRANGER)
        telegram.user_says("Hello.", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: Hello." in list_texts(telegram))
        assert await app.database.value("SELECT count(*) FROM entries WHERE kind = 'fact'") == 1
