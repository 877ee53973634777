"""Replies and reminders for topics that were deleted, and for chats where the bot may not write."""

from __future__ import annotations

import pytest

from memory.log.sessions import Address
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.reminding import add_reminder
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds
from tests.support.serving import ANN, GROUP, Serve, list_texts

TOPIC = 7


def ask_in_group(telegram: BotApiServer, text: str, topic: int | None = None) -> None:
    telegram.user_says(f"@mneme_test_bot {text}", chat_id=GROUP, user_id=ANN, chat_type="supergroup", thread_id=topic)


async def test_reply_for_a_deleted_topic_goes_to_the_group(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup")
    telegram.register_thread(GROUP, TOPIC)
    held = Holds("On Sunday.")
    model.script(held)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        ask_in_group(telegram, "When is the party?", TOPIC)
        await model.wait_for(lambda: bool(model.requests))
        telegram.delete_thread(GROUP, TOPIC)
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        (sent,) = telegram.list_sent(GROUP)
        assert sent.thread_id is None


@pytest.mark.usefixtures("reminded_often")
@needs_feature("reminders")
async def test_reminders_of_a_deleted_topic_go_to_the_group_from_then_on(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(GROUP, chat_type="supergroup")
    telegram.register_thread(GROUP, TOPIC)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        topic = Address("telegram", str(GROUP), str(TOPIC))
        await app.sessions.get_or_create(topic)
        when = "2026-02-07T13:00"
        await add_reminder(app, "water the plants", when, "daily", session=topic.session_id, owner=topic.owner)
        telegram.delete_thread(GROUP, TOPIC)
        clock.forward(hours=1)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 1)
        refused = len(telegram.list_calls("sendMessage"))
        clock.forward(days=1)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) == 2)
        assert len(telegram.list_calls("sendMessage")) == refused + 1


@pytest.mark.parametrize(
    "reason",
    ["TOPIC_CLOSED", "not enough rights to send text messages to the chat", "CHAT_WRITE_FORBIDDEN"],
)
async def test_reply_waits_until_the_bot_may_write_and_the_owner_is_told_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer, reason: str
) -> None:
    telegram.register_chat(ANN)
    telegram.register_chat(GROUP, chat_type="supergroup")
    telegram.forbid(GROUP, reason)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        for text in ("When is the party?", "And where?"):
            ask_in_group(telegram, text)
            await telegram.wait_for(lambda: any("I may not write" in text for text in list_texts(telegram, ANN)))
        telegram.forbid(GROUP, None)
        telegram.adds_bot(GROUP, ANN, again=True)
        await telegram.wait_for(lambda: len(telegram.list_sent(GROUP)) >= 2)
    assert sum("I may not write" in text for text in list_texts(telegram, ANN)) == 1
