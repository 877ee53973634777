"""Tests of the names that the bot gives to topics of private chats."""

from __future__ import annotations

import pytest

from bot.telegram.topics import MAX_NAME_CHARS, make_topic_name
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import ANN, Serve, list_texts, wait_for_text

TOPIC = 7


async def exchange(telegram: BotApiServer, text: str, topic: int = TOPIC) -> None:
    """Write in a topic and wait for the answer."""
    telegram.user_says(text, chat_id=ANN, thread_id=topic)
    await wait_for_text(telegram, f"You said: {text}")


def list_names(telegram: BotApiServer) -> list[str]:
    """Return the names that the bot gave, also without success."""
    return [call.params["name"] for call in telegram.list_calls("editForumTopic")]


async def test_topic_is_named_once_after_its_first_exchange(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    async with serve():
        telegram.user_opens_topic(ANN, TOPIC)
        await exchange(telegram, "Wann ist mein Termin beim Zahnarzt in der Hauptstraße?")
        await telegram.wait_for(lambda: telegram.get_topic_name(ANN, TOPIC) == "Wann ist mein Termin beim Zahnarzt…")
        await exchange(telegram, "Something else")
    async with serve():
        await exchange(telegram, "And again")
        telegram.user_opens_topic(ANN, 8)
        await exchange(telegram, "Holidays", 8)
        await telegram.wait_for(lambda: telegram.get_topic_name(ANN, 8) == "Holidays")
    assert len(list_names(telegram)) == 2


async def test_name_that_a_person_gave_stays(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    async with serve():
        telegram.user_opens_topic(ANN, TOPIC, "Garden")
        await exchange(telegram, "Roses")
        telegram.user_opens_topic(ANN, 8)
        telegram.user_renames_topic(ANN, 8, "Kitchen")
        await exchange(telegram, "Pots", 8)
        telegram.user_opens_topic(ANN, 9)
        await exchange(telegram, "Books", 9)
        await telegram.wait_for(lambda: telegram.get_topic_name(ANN, 9) == "Books")
    assert list_names(telegram) == ["Books"]
    assert len(list_texts(telegram)) == 3


async def test_refused_name_is_not_tried_again(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    async with serve():
        telegram.user_opens_topic(ANN, TOPIC)
        telegram.fault("editForumTopic", error_code=400, description="Bad Request: TOPIC_CLOSED")
        await exchange(telegram, "Roses")
        await telegram.wait_for(lambda: list_names(telegram))
        await exchange(telegram, "Tulips")
        telegram.user_opens_topic(ANN, 8)
        telegram.fault("editForumTopic", error_code=502, description="Bad Gateway")
        await exchange(telegram, "Pots", 8)
        await telegram.wait_for(lambda: len(list_names(telegram)) == 2)
        await exchange(telegram, "Pans", 8)
        await telegram.wait_for(lambda: telegram.get_topic_name(ANN, 8) == "Pans")
    assert list_names(telegram) == ["Roses", "Pots", "Pans"]


async def test_server_without_the_method_is_remembered(serve: Serve, telegram: BotApiServer) -> None:
    telegram.register_chat(ANN)
    telegram.supports.topics = False
    async with serve():
        telegram.user_opens_topic(ANN, TOPIC)
        await exchange(telegram, "Roses")
        await telegram.wait_for(lambda: len(telegram.list_calls("getMe")) == 2)
        await exchange(telegram, "Tulips")
    async with serve():
        await exchange(telegram, "Pots")
    assert list_names(telegram) == ["Roses"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("  \n Hello!\nMore", "Hello"),
        ("**Bold** _words_", "Bold words"),
        ("My password: correct-horse-battery", "My password: [secret]"),
        ("x" * 100, "x" * (MAX_NAME_CHARS - 1) + "…"),
        ("Where did I put the spare key of the shed?", "Where did I put the spare key of…"),
    ],
)
def test_topic_name_is_one_short_line(text: str, name: str) -> None:
    assert make_topic_name(text) == name
