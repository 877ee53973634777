"""Tests of the times of reminders as entities of Telegram."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.support.bot_api.chats import BotMessage
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.features import needs_feature
from tests.support.reminding import add_reminder
from tests.support.serving import ANN, Serve, list_texts, press, wait_for_text

# The test clock starts on Saturday 2026-02-07 12:15 UTC.
pytestmark = [pytest.mark.usefixtures("reminded_often"), needs_feature("reminders")]


def list_times(message: BotMessage) -> list[tuple[str, datetime]]:
    """Return the marked times in a message."""
    return [
        (
            message.text[entity.offset : entity.offset + entity.length],
            datetime.fromtimestamp(entity.unix_time or 0, UTC),
        )
        for entity in message.entities
        if entity.type == "date_time"
    ]


async def test_delivered_and_snoozed_reminders_carry_their_times(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    async with serve(timezone="Europe/Kyiv") as app:
        telegram.user_says("/done_7", chat_id=ANN, language_code="de")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await add_reminder(app, "call Ann", "2026-02-07T15:00")
        clock.now = datetime(2026, 2, 7, 13, 0, tzinfo=UTC)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        delivered = telegram.list_sent(ANN)[1]
        assert list_times(delivered) == [("Samstag, 7. Februar 2026, 15:00 Uhr", clock())]
        press(telegram, "In 1 Stunde")
        await telegram.wait_for(lambda: "16:00" in list_texts(telegram)[1])
        snoozed = telegram.list_sent(ANN)[1]
        assert [time for _text, time in list_times(snoozed)] == [datetime(2026, 2, 7, 14, 0, tzinfo=UTC)]


async def test_server_that_refuses_times_gets_the_same_text(
    serve: Serve, telegram: BotApiServer, clock: FakeClock
) -> None:
    telegram.register_chat(ANN)
    telegram.supports.times = False
    async with serve() as app:
        for hour in (13, 14):
            await add_reminder(app, f"call {hour}", f"2026-02-07T{hour}:00")
        for hour in (13, 14):
            clock.now = datetime(2026, 2, 7, hour, 0, tzinfo=UTC)
            await wait_for_text(telegram, f"call {hour}")
    assert list_texts(telegram)[1] == (
        "Reminder: call 14\n\nSaturday, 7 February 2026, 14:00\n\n/done_2 or /snooze_2 for an hour."
    )
    assert [message.entities[0].type for message in telegram.list_sent(ANN)] == ["bold", "bold"]
    asked = [call.ok for call in telegram.list_calls("sendMessage")]
    assert asked == [False, True, True]
