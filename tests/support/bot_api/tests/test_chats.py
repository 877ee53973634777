"""Tests that the local Bot API server is as strict as Telegram about keyboards, topics, photos and settings."""

from __future__ import annotations

import pytest
from telegram import (
    KeyboardButton,
    KeyboardButtonRequestUsers,
    MessageEntity,
    ReplyKeyboardMarkup,
    ReplyKeyboardRemove,
    Update,
)
from telegram.error import BadRequest, EndPointNotFound
from telegram.ext import ExtBot

from tests.support.bot_api.files import JPEG
from tests.support.bot_api.server import BotApiServer
from tests.support.bot_api.tests.conftest import ANN, GROUP

EVE = {"first_name": "Eve", "last_name": "Lang", "username": "eve", "photo": []}


def create_keyboard(*requests: KeyboardButtonRequestUsers, one_time: bool = True) -> ReplyKeyboardMarkup:
    rows = [[KeyboardButton("Choose", request_users=request)] for request in requests]
    return ReplyKeyboardMarkup(rows, one_time_keyboard=one_time)


async def test_chosen_people_have_only_the_requested_fields(server: BotApiServer, bot: ExtBot[None]) -> None:
    request = KeyboardButtonRequestUsers(7, request_name=True)
    await bot.send_message(ANN, "Who?", reply_markup=create_keyboard(request, one_time=False))
    server.user_chooses("Choose", {9: EVE}, chat_id=ANN)
    (update,) = await bot.get_updates()
    assert isinstance(update, Update)
    assert update.message is not None
    shared = update.message.users_shared
    assert shared is not None
    assert (shared.request_id, shared.users[0].user_id, shared.users[0].last_name) == (7, 9, "Lang")
    assert shared.users[0].username is None
    with pytest.raises(ValueError, match="more people"):
        server.user_chooses("Choose", {9: EVE, 10: EVE}, chat_id=ANN)
    assert server.list_keyboard(ANN) == ["Choose"]
    await bot.send_message(ANN, "Thanks", reply_markup=ReplyKeyboardRemove())
    assert server.list_keyboard(ANN) == []


@pytest.mark.parametrize(
    ("chat", "requests"),
    [
        (GROUP, [KeyboardButtonRequestUsers(1)]),
        (ANN, [KeyboardButtonRequestUsers(2**31)]),
        (ANN, [KeyboardButtonRequestUsers(1, max_quantity=11)]),
        (ANN, [KeyboardButtonRequestUsers(1), KeyboardButtonRequestUsers(1)]),
    ],
    ids=["group", "large id", "quantity", "same id"],
)
async def test_invalid_requests_for_people_are_refused(
    server: BotApiServer, bot: ExtBot[None], chat: int, requests: list[KeyboardButtonRequestUsers]
) -> None:
    with pytest.raises(BadRequest):
        await bot.send_message(chat, "Who?", reply_markup=create_keyboard(*requests))
    assert server.list_sent(chat) == []


async def test_server_before_7_2_shows_no_request(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.supports.people = False
    await bot.send_message(ANN, "Who?", reply_markup=create_keyboard(KeyboardButtonRequestUsers(1)))
    assert server.list_keyboard(ANN) == []
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("getbusinessconnection")


async def test_topic_is_renamed_only_in_private_chats(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.user_opens_topic(ANN, 7)
    assert await bot.edit_forum_topic(ANN, 7, "Garden")
    assert server.get_topic_name(ANN, 7) == "Garden"
    for chat, topic, name in ((ANN, 7, "Garden"), (ANN, 7, "x" * 129), (ANN, 8, "Other"), (GROUP, 7, "Other")):
        with pytest.raises(BadRequest):
            await bot.edit_forum_topic(chat, topic, name)


async def test_photo_has_to_be_a_picture(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_photo(ANN, JPEG, caption="Look")
    assert (sent.caption, bool(sent.photo)) == ("Look", True)
    for content, caption in ((b"no picture", ""), (JPEG, "x" * 1025)):
        with pytest.raises(BadRequest):
            await bot.send_photo(ANN, content, caption=caption)
    assert server.documents == [JPEG]


async def test_settings_of_the_bot_are_changed(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.do_api_request("setMySettings", api_kwargs={"has_topics_enabled": True})
    assert (await bot.get_me()).has_topics_enabled is True
    with pytest.raises(BadRequest):
        await bot.do_api_request("setMySettings", api_kwargs={"has_topics": True})


async def test_time_needs_a_moment_and_a_newer_server(server: BotApiServer, bot: ExtBot[None]) -> None:
    with pytest.raises(BadRequest, match="unix_time"):
        await bot.send_message(ANN, "at nine", entities=[MessageEntity("date_time", 0, 7)])
    server.supports.times = False
    with pytest.raises(BadRequest, match="unsupported type"):
        await bot.send_message(ANN, "at nine", entities=[MessageEntity("date_time", 0, 7)])
