"""Tests of guest mode: the owner mentions the bot in a chat without the bot."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from bot.kernel import App
from config.errors import ConfigurationError
from memory.access import AccessList
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Says
from tests.support.serving import ANN, STRANGER, Serve, wait_for_text

ELSEWHERE, BESIDE = -100900, -100901
TABLES = ("messages", "turns", "conversations", "entries", "inbox", "outbox", "sessions", "media", "reminders")


async def count_rows(app: App) -> dict[str, int]:
    """Return the number of rows in each table of messages and memories."""
    return {name: len(await app.database.rows(f"SELECT 1 FROM {name}")) for name in TABLES}  # noqa: S608  # Constants.


def has_answer_count(telegram: BotApiServer, count: int) -> bool:
    """Return whether exactly `count` guest queries were answered."""
    return len(telegram.guest_answers) == count


def get_newest_request(model: ModelServer) -> str:
    """Return the newest request as text."""
    return str(model.requests[-1])


async def test_guest_query_of_the_owner_is_answered_and_not_stored(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says("hello", chat_id=ANN)
        await wait_for_text(telegram, "You said: hello")
        telegram.user_says("/remember I prefer tea in the morning.", chat_id=ANN)
        await wait_for_text(telegram, "Remembered")
        before = await count_rows(app)
        words = {"message_id": 7, "date": 1, "text": "The ferry leaves at nine."}
        quoted = words | {
            "chat": {"id": ELSEWHERE, "type": "supergroup", "title": "Others"},
            "from": {"id": STRANGER, "is_bot": False, "first_name": "Bob"},
        }
        query = telegram.user_calls_guest(
            "@mneme_test_bot I always take the window seat. What is this about?",
            chat_id=ELSEWHERE,
            user_id=ANN,
            quoted=quoted,
        )
        await telegram.wait_for(lambda: telegram.guest_answers)
        assert telegram.guest_answers[query].startswith("You said: I always take the window seat.")
        assert "The ferry leaves at nine." in get_newest_request(model)
        assert "prefer tea" not in get_newest_request(model)
        second = telegram.user_calls_guest("@mneme_test_bot and now?", chat_id=ELSEWHERE, user_id=ANN)
        await telegram.wait_for(lambda: second in telegram.guest_answers)
        assert "window seat" not in get_newest_request(model)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "guest"))
        telegram.user_says("still there?", chat_id=ANN)
        await wait_for_text(telegram, "You said: still there?")
        assert await app.database.value("SELECT count(*) FROM sessions WHERE channel = 'guest'") == 0
        after = await count_rows(app)
        assert {name for name in TABLES if after[name] != before[name]} <= {"messages", "turns", "inbox", "outbox"}
        assert after["messages"] == before["messages"] + 2
    assert telegram.list_sent(ELSEWHERE) == []
    assert len(telegram.list_calls("answerGuestQuery")) == 2


async def test_guest_query_in_a_chat_of_two_people_is_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        query = telegram.user_calls_guest("@mneme_test_bot is it raining?", chat_id=STRANGER, user_id=ANN)
        await telegram.wait_for(lambda: telegram.guest_answers)
        assert telegram.guest_answers[query].startswith("You said: is it raining?")
        assert "guest_message" in telegram.list_calls("getUpdates")[-1].params["allowed_updates"]


async def test_guest_query_of_others_or_with_a_command_is_refused(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve() as app:
        await AccessList(app.database, "telegram", app.clock).let_in(STRANGER)
        telegram.user_calls_guest("@mneme_test_bot who am I?", chat_id=ELSEWHERE, user_id=STRANGER)
        query = telegram.user_calls_guest("@mneme_test_bot /usage", chat_id=ELSEWHERE, user_id=ANN)
        await telegram.wait_for(lambda: telegram.guest_answers)
        assert list(telegram.guest_answers) == [query]
        assert telegram.guest_answers[query].startswith("Commands work only in chats where I'm a member")
    assert model.requests == []


async def test_guest_answer_is_cut_to_one_message(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    model.script(Says("word " * 3_000))
    async with serve():
        query = telegram.user_calls_guest("@mneme_test_bot tell me all", chat_id=ELSEWHERE, user_id=ANN)
        await telegram.wait_for(lambda: telegram.guest_answers)
    assert telegram.guest_answers[query].endswith("[...]")
    assert 3_000 < len(telegram.guest_answers[query]) <= 4_096


async def test_guest_answer_that_failed_is_sent_again(serve: Serve, telegram: BotApiServer) -> None:
    telegram.fault("answerGuestQuery", error_code=502, description="Bad Gateway")
    async with serve():
        telegram.user_calls_guest("@mneme_test_bot hello", chat_id=ELSEWHERE, user_id=ANN)
        await telegram.wait_for(lambda: telegram.guest_answers)
    assert len(telegram.list_calls("answerGuestQuery")) == 2


async def test_guest_memory_is_separate_for_each_chat(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve(guest_memory=True) as app:
        telegram.user_says("/remember I prefer tea in the morning.", chat_id=ANN)
        await wait_for_text(telegram, "Remembered")
        for count, (chat, text) in enumerate(
            [(ELSEWHERE, "I always take the window seat."), (ELSEWHERE, "which seat do I take?"), (BESIDE, "my seat?")],
            start=1,
        ):
            telegram.user_calls_guest(f"@mneme_test_bot {text}", chat_id=chat, user_id=ANN)
            await telegram.wait_for(partial(has_answer_count, telegram, count))
            assert "prefer tea" not in get_newest_request(model)
            assert ("window seat" in get_newest_request(model)) is (chat == ELSEWHERE)
        assert await app.database.value("SELECT count(*) FROM sessions WHERE id = ?", (f"guest:{ELSEWHERE}",)) == 1


async def test_guest_memory_with_shared_scope_is_refused(start: OpenApp) -> None:
    with pytest.raises(ConfigurationError, match="GUEST_MEMORY"):
        async with start(guest_memory=True, memory_scope="shared"):
            pass
