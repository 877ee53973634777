"""Tests that the local Bot API server behaves like Telegram, through Mneme's client."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable
from datetime import timedelta
from typing import Any

import httpx
import pytest
from telegram import (
    Bot,
    BotCommand,
    BotCommandScopeAllPrivateChats,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    MessageEntity,
    ReplyParameters,
    Update,
)
from telegram.error import (
    BadRequest,
    Conflict,
    EndPointNotFound,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
    TimedOut,
)
from telegram.ext import ExtBot

from tests.support.bot_api.files import MAX_DOWNLOAD_BYTES, SentFile, create_document
from tests.support.bot_api.server import BotApiServer
from tests.support.bot_api.tests.conftest import ANN, GROUP

FORUM = -1009009
KEYBOARD = InlineKeyboardMarkup([[InlineKeyboardButton("Undo", callback_data="undo:1")]])
NOT_MODIFIED = (
    "Bad Request: message is not modified: specified new message content and reply markup are exactly the "
    "same as a current content and reply markup of the message"
)


@pytest.fixture
async def filer(server: BotApiServer) -> AsyncIterator[ExtBot[None]]:
    files = f"{server.url}/file/bot"
    async with ExtBot(BotApiServer.TOKEN, base_url=f"{server.url}/bot", base_file_url=files) as bot:
        yield bot


@pytest.fixture
async def twin(server: BotApiServer) -> AsyncIterator[ExtBot[None]]:
    async with ExtBot(BotApiServer.TOKEN, base_url=f"{server.url}/bot") as twin:
        yield twin


@pytest.fixture
async def web(server: BotApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{server.url}/bot{BotApiServer.TOKEN}/", trust_env=False) as web:
        yield web


async def read_refusal(server: BotApiServer, request: Awaitable[object]) -> str:
    """Return the server's description of its refusal."""
    with pytest.raises(TelegramError):
        await request
    response = server.calls[-1].response
    assert response is not None
    assert response["error_code"] == 400
    return str(response["description"])


async def read_raw_refusal(web: httpx.AsyncClient, method: str, **params: object) -> str:
    """Send a request that the client would not send, and return the description of its refusal."""
    response = await web.post(method, json=params)
    assert response.status_code == 400
    return str(response.json()["description"])


def create_entity(kind: str, offset: object, length: object, **more: object) -> dict[str, object]:
    return {"type": kind, "offset": offset, "length": length, **more}


# Authorization and methods.


async def test_right_token_returns_the_bot(bot: ExtBot[None]) -> None:
    me = await bot.get_me()
    assert (me.id, me.username, me.is_bot) == (1234567, "mneme_test_bot", True)


async def test_wrong_token_is_unauthorized(server: BotApiServer) -> None:
    stranger = Bot("7654321:somebody-else", base_url=f"{server.url}/bot")
    with pytest.raises(InvalidToken):
        await stranger.initialize()
    await stranger.shutdown()
    expected = {"ok": False, "error_code": 401, "description": "Unauthorized"}
    assert server.calls[-1].response == expected


async def test_unknown_method_is_not_found(server: BotApiServer, bot: ExtBot[None]) -> None:
    with pytest.raises(EndPointNotFound):
        await bot.do_api_request("makeCoffee")
    assert server.calls[-1].response == {"ok": False, "error_code": 404, "description": "Not Found"}


async def test_path_without_a_method_is_not_found(server: BotApiServer, web: httpx.AsyncClient) -> None:
    assert (await web.get(f"{server.url}/")).status_code == 404


async def test_method_names_may_be_in_any_case(server: BotApiServer, web: httpx.AsyncClient) -> None:
    assert (await web.get("GETME")).json()["ok"]
    assert server.calls[-1].method == "getMe"


# Parameters.


@pytest.mark.parametrize("encoding", ["query", "urlencoded", "multipart", "json"])
async def test_parameters_may_arrive_in_each_encoding(
    server: BotApiServer, web: httpx.AsyncClient, encoding: str
) -> None:
    entities = [create_entity("bold", 0, 2)]
    form = {"chat_id": str(ANN), "text": "hé + ünï & 🦜", "entities": json.dumps(entities)}
    ways: dict[str, dict[str, Any]] = {
        "query": {"params": form},
        "urlencoded": {"data": form},
        "multipart": {"files": {name: (None, value) for name, value in form.items()}},
        "json": {"json": {"chat_id": ANN, "text": form["text"], "entities": entities}},
    }
    response = await web.post("sendMessage", **ways[encoding])
    assert response.json()["result"]["text"] == form["text"]
    assert server.calls[-1].params == {"chat_id": ANN, "text": form["text"], "entities": entities}


@pytest.mark.parametrize(
    ("method", "params", "description"),
    [
        ("sendMessage", {"text": "hello"}, "chat_id is empty"),
        ("sendMessage", {"chat_id": ANN}, "message text is empty"),
        ("sendMessageDraft", {"chat_id": ANN, "text": "hello"}, "DRAFT_ID_INVALID"),
        ("editMessageText", {"chat_id": ANN, "text": "hello"}, "message to edit not found"),
        ("editMessageReplyMarkup", {"chat_id": ANN}, "message to edit not found"),
        ("deleteMessage", {"chat_id": ANN}, "message identifier is not specified"),
        ("sendChatAction", {"chat_id": ANN}, "wrong parameter action in request"),
        (
            "answerCallbackQuery",
            {},
            "query is too old and response timeout expired or query ID is invalid",
        ),
        ("setMyCommands", {}, "can't parse commands JSON object"),
    ],
)
async def test_missing_parameter_is_refused(
    web: httpx.AsyncClient, method: str, params: dict[str, object], description: str
) -> None:
    assert await read_raw_refusal(web, method, **params) == f"Bad Request: {description}"


@pytest.mark.parametrize(
    "body",
    [b"chat_id=1001&text=%ED%A0%80", b"chat_id=1001&text=\xff", b'chat_id=1001&text=a&entities=["\\ud800"]'],
    ids=["an encoded surrogate", "a stray byte", "a surrogate in JSON"],
)
async def test_strings_must_be_utf8(server: BotApiServer, web: httpx.AsyncClient, body: bytes) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await web.post("sendMessage", content=body, headers=form)
    assert response.status_code == 400
    assert response.json()["description"] == "Bad Request: strings must be encoded in UTF-8"
    assert server.list_sent(ANN) == []


async def test_lone_surrogate_in_a_button_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    broken = InlineKeyboardMarkup([[InlineKeyboardButton("\ud83e", callback_data="x")]])
    request = bot.send_message(ANN, "hello", reply_markup=broken)
    assert await read_refusal(server, request) == "Bad Request: strings must be encoded in UTF-8"


# Updates.


async def test_message_of_a_user_arrives_as_an_update(server: BotApiServer, bot: ExtBot[None]) -> None:
    update_id = server.user_says("hello", chat_id=1002, first_name="Bo", username="bo_b", language_code="de")
    (update,) = await bot.get_updates()
    assert update.update_id == update_id
    assert update.message is not None
    assert update.message.text == "hello"
    assert update.message.message_id == server.find_message_id(update_id)
    assert update.message.from_user is not None
    assert (update.message.from_user.id, update.message.from_user.language_code) == (1002, "de")
    assert update.message.chat.type == "private"


async def test_numbers_of_updates_and_messages_grow(server: BotApiServer, bot: ExtBot[None]) -> None:
    updates = [server.user_says(text, chat_id=ANN) for text in "abc"]
    said = [server.find_message_id(update_id) for update_id in updates]
    assert updates == [updates[0], updates[0] + 1, updates[0] + 2]
    assert (await bot.send_message(ANN, "d")).message_id > said[2] > said[1] > said[0]


async def test_updates_repeat_until_the_offset_passes_them(server: BotApiServer, bot: ExtBot[None]) -> None:
    first, second, third = (server.user_says(text, chat_id=ANN) for text in "abc")
    assert [update.update_id for update in await bot.get_updates(limit=2)] == [first, second]
    assert [update.update_id for update in await bot.get_updates(offset=second)] == [second, third]
    assert server.pending_update_ids == [second, third]
    assert await bot.get_updates(offset=third + 1) == ()
    assert await bot.get_updates() == ()


async def test_negative_offset_keeps_only_the_last_updates(server: BotApiServer, bot: ExtBot[None]) -> None:
    *_, last = (server.user_says(text, chat_id=ANN) for text in "abc")
    assert [update.update_id for update in await bot.get_updates(offset=-1)] == [last]
    assert server.pending_update_ids == [last]


async def test_long_poll_ends_with_a_new_update(server: BotApiServer, bot: ExtBot[None]) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=50))
    await server.wait_for(lambda: server.polled)
    update_id = server.user_says("hello", chat_id=ANN)
    assert [update.update_id for update in await poll] == [update_id]


async def test_long_poll_ends_empty_after_its_timeout(bot: ExtBot[None]) -> None:
    assert await bot.get_updates(timeout=1) == ()


async def test_only_allowed_updates_are_queued_from_then_on(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.get_updates(allowed_updates=[Update.MESSAGE])
    said = server.user_says("hello", chat_id=ANN)
    server.user_says("hallo", chat_id=ANN, edit_of=server.find_message_id(said))
    assert [update.update_id for update in await bot.get_updates()] == [said]


async def test_second_poller_ends_the_first_with_409(
    server: BotApiServer, bot: ExtBot[None], twin: ExtBot[None]
) -> None:
    first = asyncio.create_task(bot.get_updates(timeout=50))
    await server.wait_for(lambda: server.polled)
    second = asyncio.create_task(twin.get_updates(timeout=50))
    with pytest.raises(Conflict):
        await first
    (ended,) = [call for call in server.calls if call.error_code == 409]
    assert ended.response is not None
    assert ended.response["description"] == (
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
    )
    update_id = server.user_says("hello", chat_id=ANN)
    assert [update.update_id for update in await second] == [update_id]


async def test_client_that_abandons_its_poll_loses_no_updates(server: BotApiServer, bot: ExtBot[None]) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=50))
    await server.wait_for(lambda: server.polled)
    poll.cancel()
    await server.wait_for(lambda: not server.polled)
    update_id = server.user_says("hello", chat_id=ANN)
    assert [update.update_id for update in await bot.get_updates(timeout=50)] == [update_id]
    assert all(call.error_code is None for call in server.calls)


async def test_process_killed_in_its_poll_loses_no_updates(server: BotApiServer, bot: ExtBot[None]) -> None:
    program = "import sys, urllib.request as web; web.urlopen(sys.argv[1])"
    poll = f"{server.url}/bot{BotApiServer.TOKEN}/getUpdates?timeout=50"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, poll)
    await server.wait_for(lambda: server.polled)
    process.kill()
    await process.wait()
    await server.wait_for(lambda: not server.polled)
    update_id = server.user_says("hello", chat_id=ANN)
    assert [update.update_id for update in await bot.get_updates()] == [update_id]


@pytest.mark.parametrize(
    "fragment",
    [
        b"POST /bot",
        b"POST /bot/getMe HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab",
        b"\x16\x03\x01\r\n\r\n",
    ],
    ids=["in the head", "in the body", "not HTTP"],
)
async def test_client_that_disconnects_midway_does_no_harm(
    server: BotApiServer, bot: ExtBot[None], fragment: bytes
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    writer.write(fragment)
    await writer.drain()
    writer.transport.abort()
    await bot.get_me()


# Actions of users.


async def test_commands_and_mentions_are_marked(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.user_says("/start@mneme_test_bot 🦜 @anybody a@b.example /no/path", chat_id=ANN)
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.parse_entities() == {
        MessageEntity("bot_command", 0, 21): "/start@mneme_test_bot",
        MessageEntity("mention", 25, 8): "@anybody",
    }


async def test_group_message_in_a_thread_replies_to_the_bot(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.user_says("hi", chat_id=FORUM, user_id=ANN, chat_type="supergroup", thread_id=7)
    sent = await bot.send_message(FORUM, "yes?", message_thread_id=7)
    server.user_says("again", chat_id=FORUM, user_id=ANN, chat_type="supergroup", thread_id=7, reply_to_bot=True)
    _, update = await bot.get_updates()
    message = update.message
    assert message is not None
    assert (message.message_thread_id, message.is_topic_message, message.chat.is_forum) == (7, True, True)
    assert message.reply_to_message is not None
    assert message.reply_to_message.message_id == sent.message_id
    assert message.reply_to_message.from_user == bot.bot


async def test_edited_message_keeps_its_number(server: BotApiServer, bot: ExtBot[None]) -> None:
    said = server.find_message_id(server.user_says("helo", chat_id=ANN))
    server.user_says("hello", chat_id=ANN, edit_of=said)
    _, update = await bot.get_updates()
    assert update.edited_message is not None
    assert (update.edited_message.message_id, update.edited_message.text) == (said, "hello")
    assert update.edited_message.edit_date is not None


async def test_photo_comes_without_text(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.user_says(chat_id=ANN, photo=True, caption="look")
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert (update.message.text, update.message.caption, len(update.message.photo)) == (None, "look", 5)


async def test_forwarded_message_has_an_origin(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.user_says("as they said", chat_id=ANN, forwarded=True)
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.forward_origin is not None
    assert update.message.forward_origin.type == "user"


async def test_pressed_button_comes_with_its_message(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "saved", reply_markup=KEYBOARD)
    server.user_presses("undo:1", sent.message_id, ANN, ANN)
    (update,) = await bot.get_updates()
    query = update.callback_query
    assert query is not None
    assert (query.data, query.message) == ("undo:1", sent)
    assert await query.answer("undone")


async def test_press_is_answered_once(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "saved", reply_markup=KEYBOARD)
    server.user_presses("undo:1", sent.message_id, ANN, ANN)
    server.user_presses("undo:1", sent.message_id, ANN, ANN)
    first, second = [update.callback_query for update in await bot.get_updates()]
    assert first is not None
    assert second is not None
    assert first.id != second.id
    await first.answer()
    with pytest.raises(BadRequest, match=r"(?i)query is too old"):
        await first.answer()
    with pytest.raises(BadRequest, match=r"(?i)query is too old"):
        await bot.answer_callback_query("1")
    await second.answer()


async def test_keyboard_may_have_a_hundred_buttons(server: BotApiServer, bot: ExtBot[None]) -> None:
    buttons = [[InlineKeyboardButton("a", callback_data=str(n))] for n in range(101)]
    await bot.send_message(ANN, "many", reply_markup=InlineKeyboardMarkup(buttons[:100]))
    with pytest.raises(BadRequest, match=r"(?i)REPLY_MARKUP_TOO_LONG"):
        await bot.send_message(ANN, "more", reply_markup=InlineKeyboardMarkup(buttons))
    with pytest.raises(BadRequest, match=r"(?i)BUTTON_DATA_INVALID"):
        await bot.send_document(
            ANN,
            b"file",
            reply_markup=InlineKeyboardMarkup([[InlineKeyboardButton("a", callback_data="ї" * 33)]]),
        )


async def test_button_of_a_deleted_message_has_no_accessible_message(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "saved", reply_markup=KEYBOARD)
    await bot.delete_message(ANN, sent.message_id)
    server.user_presses("undo:1", sent.message_id, ANN, ANN)
    (update,) = await bot.get_updates()
    assert update.callback_query is not None
    assert update.callback_query.message is not None
    assert not update.callback_query.message.is_accessible


# Files.


async def test_file_is_downloaded_by_the_path_of_get_file(server: BotApiServer, filer: ExtBot[None]) -> None:
    server.user_says(chat_id=ANN, sends=create_document("note.txt", "words", "text/plain"))
    (update,) = await filer.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    assert (update.message.document.file_name, update.message.document.file_size) == ("note.txt", 5)
    file = await filer.get_file(update.message.document.file_id)
    assert await file.download_as_bytearray() == b"words"


async def test_file_can_not_be_downloaded_before_get_file(server: BotApiServer, filer: ExtBot[None]) -> None:
    server.user_says(chat_id=ANN, sends=create_document("note.txt", "words"))
    (update,) = await filer.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    path = f"files/{update.message.document.file_id}.bin"
    async with httpx.AsyncClient(base_url=f"{server.url}/file", trust_env=False) as web:
        assert (await web.get(f"/bot{BotApiServer.TOKEN}/{path}")).status_code == 404
        await filer.get_file(update.message.document.file_id)
        assert (await web.get(f"/bot{BotApiServer.TOKEN}/{path}")).content == b"words"
        assert (await web.get(f"/bot1:wrong/{path}")).status_code == 401


async def test_unknown_or_too_large_file_is_refused(server: BotApiServer, filer: ExtBot[None]) -> None:
    server.user_says(chat_id=ANN, sends=SentFile("document", b"x", "film.pdf", size=MAX_DOWNLOAD_BYTES + 1))
    (update,) = await filer.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    assert await read_refusal(server, filer.get_file("unheard-of")) == "Bad Request: invalid file_id"
    assert await read_refusal(server, filer.get_file(update.message.document.file_id)) == "Bad Request: file is too big"


async def test_impossible_user_action_is_an_error_of_the_test(server: BotApiServer) -> None:
    with pytest.raises(ValueError, match="positive"):
        server.user_says("hello", chat_id=2002, user_id=ANN, chat_type="group")
    with pytest.raises(ValueError, match="a group"):
        server.user_says("hello", chat_id=GROUP, chat_type="group")
    with pytest.raises(ValueError, match="a text or a file"):
        server.user_says("hello", chat_id=ANN, photo=True)
    with pytest.raises(ValueError, match="never was"):
        server.user_presses("undo", 99, ANN, ANN)


# Webhooks.


async def test_webhook_prevents_polling(server: BotApiServer, bot: ExtBot[None]) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=50))
    await server.wait_for(lambda: server.polled)
    await bot.set_webhook("https://example.org/hook")
    with pytest.raises(Conflict, match="terminated by setWebhook request"):
        await poll
    with pytest.raises(Conflict) as conflict:
        await bot.get_updates()
    assert conflict.value.message == (
        "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
    )
    assert (await bot.get_webhook_info()).url == "https://example.org/hook"


async def test_deleting_a_webhook_can_drop_pending_updates(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.set_webhook("https://example.org/hook")
    server.user_says("hello", chat_id=ANN)
    assert (await bot.get_webhook_info()).pending_update_count == 1
    await bot.delete_webhook()
    assert len(await bot.get_updates()) == 1
    await bot.delete_webhook(drop_pending_updates=True)
    assert server.calls[-1].params["drop_pending_updates"] is True
    assert await bot.get_updates() == ()


async def test_webhook_needs_https(server: BotApiServer, bot: ExtBot[None]) -> None:
    reason = await read_refusal(server, bot.set_webhook("http://example.org"))
    assert reason == "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"


# Sending.


async def test_sent_message_is_in_the_chat(server: BotApiServer, bot: ExtBot[None]) -> None:
    said = server.find_message_id(server.user_says("hello", chat_id=ANN))
    sent = await bot.send_message(
        ANN,
        "hello 🦜 Ann",
        entities=[MessageEntity("bold", 9, 3)],
        reply_markup=KEYBOARD,
        reply_parameters=ReplyParameters(said),
    )
    assert sent.from_user == bot.bot
    assert sent.parse_entities() == {MessageEntity("bold", 9, 3): "Ann"}
    (message,) = server.list_sent(ANN)
    assert (message.message_id, message.text, message.edited) == (sent.message_id, "hello 🦜 Ann", False)
    assert [(item.type, item.offset, item.length) for item in message.entities] == [("bold", 9, 3)]
    assert (message.reply_to_message_id, message.reply_markup) == (said, KEYBOARD.to_dict())


@pytest.mark.parametrize("text", ["", " ", " \n\t\n", "\u2003"])
async def test_empty_text_is_refused(server: BotApiServer, bot: ExtBot[None], text: str) -> None:
    assert await read_refusal(server, bot.send_message(ANN, text)) == "Bad Request: message text is empty"


async def test_length_counts_utf16_units(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.send_message(ANN, "🦜" * 2048)
    await bot.send_message(ANN, "é" * 4096)
    request = bot.send_message(ANN, "🦜" * 2048 + "x")
    assert await read_refusal(server, request) == "Bad Request: message is too long"


async def test_overlong_edit_is_refused_in_other_words(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "short")
    request = bot.edit_message_text("x" * 4097, ANN, sent.message_id)
    assert await read_refusal(server, request) == "Bad Request: MESSAGE_TOO_LONG"


async def test_blanks_around_a_text_are_trimmed_with_entities(server: BotApiServer, bot: ExtBot[None]) -> None:
    entities = [MessageEntity("bold", 3, 7)]
    sent = await bot.send_message(ANN, "\n a hello \n", entities=entities)
    assert sent.text == "a hello"
    assert [(item.offset, item.length) for item in sent.entities] == [(1, 6)]
    request = bot.edit_message_text("a hello\n\n", ANN, sent.message_id, entities=[MessageEntity("bold", 1, 6)])
    assert await read_refusal(server, request) == NOT_MODIFIED


async def test_chat_without_messages_is_not_found(server: BotApiServer, bot: ExtBot[None]) -> None:
    assert await read_refusal(server, bot.send_message(4004, "hello")) == "Bad Request: chat not found"
    assert await read_refusal(server, bot.send_message("@someone", "hello")) == "Bad Request: chat not found"
    server.user_says("hello", chat_id=4004)
    await bot.send_message(4004, "hello")


async def test_reply_needs_its_message_unless_told_otherwise(server: BotApiServer, bot: ExtBot[None]) -> None:
    request = bot.send_message(ANN, "hello", reply_parameters=ReplyParameters(99))
    assert await read_refusal(server, request) == "Bad Request: message to be replied not found"
    lenient = ReplyParameters(99, allow_sending_without_reply=True)
    sent = await bot.send_message(ANN, "hello", reply_parameters=lenient)
    assert sent.reply_to_message is None


async def test_unknown_thread_is_not_found(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.register_chat(FORUM, chat_type="supergroup", name="Forum")
    for request in (
        bot.send_message(FORUM, "hello", message_thread_id=7),
        bot.send_chat_action(FORUM, "typing", message_thread_id=7),
    ):
        assert await read_refusal(server, request) == "Bad Request: message thread not found"
    server.register_thread(FORUM, 7)
    await bot.send_message(FORUM, "hello", message_thread_id=7)
    assert [message.thread_id for message in server.list_sent(FORUM)] == [7]


async def test_unknown_chat_action_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    assert await bot.send_chat_action(ANN, "typing")
    request = bot.send_chat_action(ANN, "thinking")
    assert await read_refusal(server, request) == "Bad Request: wrong parameter action in request"


async def test_button_without_an_action_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    bare = InlineKeyboardMarkup([[InlineKeyboardButton("Undo")]])
    assert "Text buttons are unallowed" in await read_refusal(server, bot.send_message(ANN, "hello", reply_markup=bare))


async def test_button_data_over_64_bytes_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    fits = InlineKeyboardMarkup([[InlineKeyboardButton("Undo", callback_data="é" * 32)]])
    await bot.send_message(ANN, "hello", reply_markup=fits)
    over = InlineKeyboardMarkup([[InlineKeyboardButton("Undo", callback_data="é" * 32 + "x")]])
    request = bot.send_message(ANN, "hello", reply_markup=over)
    assert await read_refusal(server, request) == "Bad Request: BUTTON_DATA_INVALID"


# Entities.


async def test_nested_entities_are_accepted(server: BotApiServer, bot: ExtBot[None]) -> None:
    entities = [
        MessageEntity("code", 4, 4),
        MessageEntity("bold", 0, 9),
        MessageEntity("text_link", 0, 3, url="https://example.org"),
        MessageEntity("italic", 9, 2),
        MessageEntity("pre", 12, 3, language="py"),
    ]
    await bot.send_message(ANN, "one code ab pre", entities=entities)
    (message,) = server.list_sent(ANN)
    assert [item.type for item in message.entities] == ["bold", "text_link", "code", "italic", "pre"]


@pytest.mark.parametrize(
    "broken",
    [
        create_entity("sparkle", 0, 1),
        create_entity("bold", "0", 1),
        create_entity("bold", 0, 1.0),
        create_entity("bold", 0, True),
        create_entity("bold", -1, 2),
        create_entity("bold", 0, 0),
        create_entity("bold", 3, 4),
        create_entity("bold", 0, 2),
        create_entity("bold", 2, 1),
        create_entity("text_link", 0, 1),
        create_entity("text_mention", 0, 1, user=5),
        create_entity("custom_emoji", 0, 1),
        {"type": "bold", "length": 1},
        "bold",
    ],
    ids=[
        "an unknown type",
        "an offset in text",
        "a fraction",
        "a truth value",
        "before the text",
        "without length",
        "past the end",
        "ends in a pair",
        "starts in a pair",
        "a link to nothing",
        "a mention of nobody",
        "no emoji",
        "no offset",
        "no object",
    ],
)
async def test_broken_entity_is_refused(web: httpx.AsyncClient, broken: object) -> None:
    reason = await read_raw_refusal(web, "sendMessage", chat_id=ANN, text="a🦜bc ", entities=[broken])
    assert reason.startswith("Bad Request: can't parse entities: ")


@pytest.mark.parametrize("value", [create_entity("bold", 0, 1), "[bold"])
async def test_entities_must_be_a_list(web: httpx.AsyncClient, value: object) -> None:
    reason = await read_raw_refusal(web, "sendMessage", chat_id=ANN, text="hello", entities=value)
    assert reason == "Bad Request: can't parse entities: expected an Array of MessageEntity"


@pytest.mark.parametrize(
    ("entities", "reason"),
    [
        ([create_entity("bold", 0, 4), create_entity("italic", 2, 4)], "entities bold and italic overlap"),
        ([create_entity("code", 0, 4), create_entity("bold", 1, 2)], "entity code can't contain bold"),
        ([create_entity("pre", 0, 4), create_entity("code", 1, 2)], "entity pre can't contain code"),
        (
            [create_entity("blockquote", 0, 4), create_entity("bold", 0, 3), create_entity("blockquote", 1, 2)],
            "entity blockquote can't be nested in blockquote",
        ),
    ],
)
async def test_badly_nested_entities_are_refused(web: httpx.AsyncClient, entities: list[object], reason: str) -> None:
    refused = await read_raw_refusal(web, "sendMessage", chat_id=ANN, text="abcdefgh", entities=entities)
    assert refused == f"Bad Request: can't parse entities: {reason}"


@pytest.mark.parametrize("mode", ["BBCode", "HTML", "MarkdownV2"])
async def test_parse_mode_is_refused(server: BotApiServer, bot: ExtBot[None], mode: str) -> None:
    assert (
        await read_refusal(server, bot.send_message(ANN, "a", parse_mode=mode)) == "Bad Request: unsupported parse_mode"
    )


# Editing and deleting.


async def test_edit_replaces_text_and_buttons(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "one", reply_markup=KEYBOARD)
    await bot.edit_message_text("two", ANN, sent.message_id)
    (message,) = server.list_sent(ANN)
    assert (message.message_id, message.text, message.edited) == (sent.message_id, "two", True)
    assert message.reply_markup is None


async def test_edit_without_a_change_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "one", reply_markup=KEYBOARD)
    for request in (
        bot.edit_message_text("one", ANN, sent.message_id, reply_markup=KEYBOARD),
        bot.edit_message_reply_markup(ANN, sent.message_id, reply_markup=KEYBOARD),
    ):
        assert await read_refusal(server, request) == NOT_MODIFIED
    assert server.list_sent(ANN)[0].edited is False


async def test_changed_entity_or_keyboard_alone_is_an_edit(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "one", reply_markup=KEYBOARD)
    await bot.edit_message_text(
        "one", ANN, sent.message_id, entities=[MessageEntity("bold", 0, 3)], reply_markup=KEYBOARD
    )
    await bot.edit_message_reply_markup(ANN, sent.message_id)
    (message,) = server.list_sent(ANN)
    assert [item.type for item in message.entities] == ["bold"]
    assert message.reply_markup is None


async def test_only_own_messages_can_be_edited(server: BotApiServer, bot: ExtBot[None]) -> None:
    said = server.find_message_id(server.user_says("hello", chat_id=ANN))
    request = bot.edit_message_text("bye", ANN, said)
    assert await read_refusal(server, request) == "Bad Request: message can't be edited"
    request = bot.edit_message_text("bye", ANN, 99)
    assert await read_refusal(server, request) == "Bad Request: message to edit not found"


async def test_deleted_message_is_gone(server: BotApiServer, bot: ExtBot[None]) -> None:
    sent = await bot.send_message(ANN, "one")
    await bot.delete_message(ANN, sent.message_id)
    assert server.list_sent(ANN) == []
    request = bot.delete_message(ANN, sent.message_id)
    assert await read_refusal(server, request) == "Bad Request: message to delete not found"
    edit = bot.edit_message_text("two", ANN, sent.message_id)
    assert await read_refusal(server, edit) == "Bad Request: message to edit not found"
    assert (await bot.send_message(ANN, "two")).message_id > sent.message_id


async def test_group_message_of_others_can_not_be_deleted(server: BotApiServer, bot: ExtBot[None]) -> None:
    said = server.find_message_id(server.user_says("hi", chat_id=GROUP, user_id=ANN, chat_type="group"))
    request = bot.delete_message(GROUP, said)
    assert await read_refusal(server, request) == "Bad Request: message can't be deleted"


async def test_unknown_callback_query_is_too_old(server: BotApiServer, bot: ExtBot[None]) -> None:
    assert await read_refusal(server, bot.answer_callback_query("5")) == (
        "Bad Request: query is too old and response timeout expired or query ID is invalid"
    )


# Drafts.


async def test_drafts_are_ordered_and_may_be_empty(server: BotApiServer, bot: ExtBot[None]) -> None:
    for text in ("", "One", "One two"):
        assert await bot.send_message_draft(ANN, 17, text)
    assert server.list_drafts(ANN) == ["", "One", "One two"]
    assert server.list_sent(ANN) == []


async def test_draft_in_a_group_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    request = bot.send_message_draft(GROUP, 17, "One")
    assert await read_refusal(server, request) == "Bad Request: TEXTDRAFT_PEER_INVALID"


async def test_draft_with_number_zero_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    assert await read_refusal(server, bot.send_message_draft(ANN, 0, "One")) == "Bad Request: DRAFT_ID_INVALID"


async def test_overlong_draft_is_refused(server: BotApiServer, bot: ExtBot[None]) -> None:
    assert "TOO_LONG" in await read_refusal(server, bot.send_message_draft(ANN, 17, "x" * 4097))


async def test_older_telegram_has_no_drafts(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.supports.drafts = False
    with pytest.raises(TelegramError):
        await bot.send_message_draft(ANN, 17, "One")
    assert server.calls[-1].response == {"ok": False, "error_code": 404, "description": "Not Found"}


# Commands.


async def test_commands_are_stored_for_each_audience(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.set_my_commands([BotCommand("start", "Begin")])
    scope = BotCommandScopeAllPrivateChats()
    await bot.set_my_commands([BotCommand("los", "Beginnen")], scope=scope, language_code="de")
    assert [command.command for command in server.commands] == ["start"]
    assert server.list_commands("all_private_chats", "de")[0].description == "Beginnen"
    assert await bot.get_my_commands(scope, "de") == (BotCommand("los", "Beginnen"),)
    await bot.delete_my_commands()
    assert server.commands == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (BotCommand("Start", "Begin"), "BOT_COMMAND_INVALID"),
        (BotCommand("x" * 33, "Begin"), "BOT_COMMAND_INVALID"),
        (BotCommand("start", ""), "BOT_COMMAND_DESCRIPTION_INVALID"),
        (BotCommand("start", "x" * 257), "BOT_COMMAND_DESCRIPTION_INVALID"),
    ],
)
async def test_invalid_command_is_refused(
    server: BotApiServer, bot: ExtBot[None], command: BotCommand, reason: str
) -> None:
    assert await read_refusal(server, bot.set_my_commands([command])) == f"Bad Request: {reason}"


# Faults.


async def test_flood_control_returns_the_delay(
    server: BotApiServer, bot: ExtBot[None], web: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without it, the client warns that the type of retry_after will change.
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    server.fault("sendMessage", retry_after=7, times=2)
    with pytest.raises(RetryAfter) as flood:
        await bot.send_message(ANN, "hello")
    assert flood.value.retry_after == timedelta(seconds=7)
    response = await web.post("sendMessage", data={"chat_id": str(ANN), "text": "hello"})
    assert (response.status_code, response.headers["Retry-After"]) == (429, "7")
    assert response.json() == {
        "ok": False,
        "error_code": 429,
        "description": "Too Many Requests: retry after 7",
        "parameters": {"retry_after": 7},
    }
    await bot.send_message(ANN, "hello")
    assert len(server.list_sent(ANN)) == 1


async def test_fault_can_last_until_it_is_cleared(server: BotApiServer, bot: ExtBot[None]) -> None:
    words = "Forbidden: bot was blocked by the user"
    server.fault("sendmessage", error_code=403, description=words, times=None)
    for _ in range(3):
        with pytest.raises(Forbidden, match="blocked"):
            await bot.send_message(ANN, "hello")
    await bot.get_me()
    server.clear_faults()
    await bot.send_message(ANN, "hello")


async def test_proxy_fault_answers_with_a_page(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.fault("*", error_code=502, html=True)
    with pytest.raises(NetworkError, match=r"Bad Gateway \(502\)"):
        await bot.send_message(ANN, "hello")
    assert server.calls[-1].response is None
    assert server.list_sent(ANN) == []


@pytest.mark.parametrize("applied", [False, True])
async def test_dropped_call_takes_effect_or_not(server: BotApiServer, bot: ExtBot[None], applied: bool) -> None:
    server.fault("sendMessage", drop=True, applied=applied)
    with pytest.raises(NetworkError):
        await bot.send_message(ANN, "hello")
    assert [message.text for message in server.list_sent(ANN)] == ["hello"] * applied
    await bot.get_me()


async def test_stalled_call_is_never_answered(server: BotApiServer, bot: ExtBot[None]) -> None:
    server.fault("sendMessage", stall=True)
    with pytest.raises(TimedOut):
        await bot.send_message(ANN, "hello", read_timeout=0.05)
    assert server.list_sent(ANN) == []
    await bot.send_message(ANN, "hello")


async def test_stop_cuts_connections_and_restart_keeps_everything(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.send_message(ANN, "before")
    address = server.url
    poll = asyncio.create_task(bot.get_updates(timeout=50))
    await server.wait_for(lambda: server.polled)
    await server.stop()
    with pytest.raises(NetworkError):
        await poll
    with pytest.raises(NetworkError):
        await bot.send_message(ANN, "meanwhile")
    await server.start()
    await bot.send_message(ANN, "after")
    assert server.url == address
    assert [message.text for message in server.list_sent(ANN)] == ["before", "after"]


# Waiting.


async def test_wait_returns_its_result(server: BotApiServer, bot: ExtBot[None]) -> None:
    request = asyncio.create_task(bot.send_message(ANN, "hello"))
    found = await server.wait_for(lambda: server.list_sent(ANN))
    assert found[0].text == "hello"
    await request


async def test_wait_that_fails_lists_the_calls(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.send_message(ANN, "hello")
    await read_refusal(server, bot.send_message(4004, "hello"))
    with pytest.raises(AssertionError) as failure:
        await server.wait_for(lambda: server.list_sent(GROUP), timeout=0)
    told = str(failure.value)
    assert "sendMessage(chat_id='1001', text='hello') -> ok" in told
    assert "-> 400 Bad Request: chat not found" in told


async def test_call_is_recorded_with_its_outcome(server: BotApiServer, bot: ExtBot[None]) -> None:
    await bot.send_message(ANN, "42", disable_notification=True)
    (call,) = server.list_calls("sendMessage")
    assert call.params == {"chat_id": ANN, "text": "42", "disable_notification": True}
    assert call.response is not None
    assert (call.ok, call.error_code, call.response["result"]["text"]) == (True, None, "42")
