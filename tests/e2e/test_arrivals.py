"""Tests of other kinds of Telegram messages, which the bot describes, explains or ignores."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.telegram import calls
from config.waiting import Backoff
from tests.support.bot_api.files import SentFile, create_document, create_photo
from tests.support.bot_api.server import DOWNLOAD, BotApiServer
from tests.support.features import needs_feature
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds
from tests.support.serving import ANN, STRANGER, Serve, list_texts

BOB = {"id": 7, "is_bot": False, "first_name": "Bob"}
PLACE = {"latitude": 50.4501, "longitude": 30.5234}
STICKER = {
    "file_id": "CAAC",
    "file_unique_id": "AgAD",
    "type": "regular",
    "width": 512,
    "height": 512,
    "is_animated": False,
    "is_video": False,
    "emoji": "😀",
}
POLL = {
    "id": "5",
    "question": "Tea or coffee?",
    "options": [
        {"text": "Tea", "voter_count": 2, "persistent_id": "a"},
        {"text": "Coffee", "voter_count": 1, "persistent_id": "b"},
    ],
    "total_voter_count": 3,
    "is_closed": False,
    "is_anonymous": True,
    "type": "regular",
    "allows_multiple_answers": False,
    "allows_revoting": False,
    "members_only": False,
}
STORY = {"chat": {"id": 7, "type": "private", "first_name": "Bob"}, "id": 3}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"sticker": STICKER}, "😀"),
        ({"location": PLACE}, "[location: 50.45010, 30.52340]"),
        ({"dice": {"emoji": "🎲", "value": 4}}, "🎲 4"),
        (
            {"venue": {"location": PLACE, "title": "Opera", "address": "1 Main St"}, "location": PLACE},
            "[file] [place: Opera, 1 Main St, at 50.45010, 30.52340]",
        ),
        ({"contact": {"first_name": "Eve]\n", "phone_number": "+380 1"}}, "[file] [contact: Eve, +380 1]"),
        ({"poll": POLL}, "[file] [poll: Tea or coffee?]\n- Tea (2)\n- Coffee (1)"),
    ],
)
async def test_message_without_text_is_described_in_words(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: dict[str, Any], told: str
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, fields=fields)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert model.requests[0].said == [told]


RICH = {"rich_message": {"blocks": [{"type": "paragraph", "text": ["My cat is ", {"type": "bold", "text": "Pixel"}]}]}}

ANSWERED = RICH | {
    "message_id": 5,
    "date": 1_760_000_000,
    "chat": {"id": ANN, "type": "private", "first_name": "Ann"},
    "from": {"id": ANN, "is_bot": False, "first_name": "Ann"},
}


async def test_rich_message_and_replied_rich_message_are_read(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, fields=RICH)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("And this?", chat_id=ANN, fields={"reply_to_message": ANSWERED})
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert model.requests[0].said == ["My cat is **Pixel**"]
    assert "My cat is **Pixel**" in model.requests[1].prompt


@pytest.mark.parametrize(
    ("sends", "fields", "named"),
    [
        (SentFile("video", b"mp4"), {}, "this video"),
        (SentFile("animation", b"mp4"), {}, "this animation"),
        (None, {"story": STORY}, "this story"),
        (None, {"hologram": {"colour": "blue"}}, "this kind of message"),
    ],
)
async def test_unsupported_message_is_explained(
    serve: Serve,
    telegram: BotApiServer,
    model: ModelServer,
    sends: SentFile | None,
    fields: dict[str, Any],
    named: str,
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=sends, fields=fields)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM media") == 0
    assert list_texts(telegram) == [f"I can't watch or open {named}: send a photo of it, or say what is in it."]
    assert model.requests == []
    assert telegram.files.fetched == []


@pytest.mark.parametrize(
    "fields",
    [
        {"pinned_message": {"message_id": 1, "date": 1_760_000_000, "chat": {"id": ANN, "type": "private"}}},
        {"message_auto_delete_timer_changed": {"message_auto_delete_time": 86_400}},
        {"chat_background_set": {"type": {"type": "chat_theme", "theme_name": "🏠"}}},
        {"write_access_allowed": {}},
    ],
)
async def test_service_message_is_ignored(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: dict[str, Any]
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, fields=fields)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        assert await app.database.value("SELECT count(*) FROM inbox") == 1
    assert list_texts(telegram) == ["You said: hello"]
    assert model.requests[0].said == ["hello"]


async def test_live_location_is_answered_once(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve() as app:
        sent = telegram.user_says(chat_id=ANN, fields={"location": PLACE | {"live_period": 900}})
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        moved = {"location": {"latitude": 50.46, "longitude": 30.53, "live_period": 900}}
        number = telegram.find_message_id(sent)
        telegram.user_says(chat_id=ANN, edit_of=number, fields=moved)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert list_texts(telegram) == ["You said: [location: 50.45010, 30.52340]", "You said: hello"]


async def test_live_location_moved_before_its_turn_is_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    hold = Holds("thinking")
    model.script(hold)
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        sent = telegram.user_says(chat_id=ANN, fields={"location": PLACE | {"live_period": 900}})
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 1)
        moved = {"location": {"latitude": 50.46, "longitude": 30.53, "live_period": 900}}
        telegram.user_says(chat_id=ANN, edit_of=telegram.find_message_id(sent), fields=moved)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 2)
        hold.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert model.requests[-1].said[-2:] == ["[location: 50.45010, 30.52340]", "hello"]


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": BOB}, "Bob"),
        ({"type": "hidden_user", "sender_user_name": "Somebody: [typed] else"}, "Somebody typed else"),
        ({"type": "channel", "chat": {"id": -100, "type": "channel", "title": "News"}, "message_id": 4}, "News"),
        ({"type": "chat", "sender_chat": {"id": -101, "type": "supergroup", "title": "The Choir"}}, "The Choir"),
    ],
)
async def test_forwarded_message_names_its_origin(
    serve: Serve, telegram: BotApiServer, model: ModelServer, origin: dict[str, Any], name: str
) -> None:
    async with serve():
        telegram.user_says("Buy milk", chat_id=ANN, fields={"forward_origin": origin | {"date": 1_760_000_000}})
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert model.requests[0].said == [f"[forwarded] (from {name}) Buy milk"]


@needs_feature("media")
async def test_download_that_failed_is_retried(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "Backoff", lambda _longest: Backoff(0.0, 0.0))
    async with serve():
        telegram.fault(DOWNLOAD, error_code=502, html=True)
        telegram.fault("getFile", drop=True)
        telegram.user_says(chat_id=ANN, sends=create_document("note.txt", "The key is under the mat"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert "The key is under the mat" in model.requests[0].said[0]


@needs_feature("media")
async def test_download_that_fails_permanently_is_explained(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "Backoff", lambda _longest: Backoff(0.0, 0.0))
    async with serve() as app:
        telegram.fault(DOWNLOAD, error_code=500, times=calls.MAX_FETCH_ATTEMPTS)
        telegram.user_says(chat_id=ANN, sends=create_document("note.txt", "The key is under the mat"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.files.forget()
        telegram.user_says(chat_id=ANN, sends=None, fields={"document": {"file_id": "gone", "file_unique_id": "gone"}})
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert list_texts(telegram)[0] == "I couldn't download note.txt from Telegram: send /retry in a moment."
    assert "The key is under the mat" in model.requests[0].said[0]
    assert list_texts(telegram)[2] == "Telegram no longer has this document: send it again."


@needs_feature("media")
async def test_download_that_hangs_delays_nothing_and_can_be_stopped(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{STRANGER}") as app:
        telegram.fault(DOWNLOAD, stall=True)
        telegram.user_says(
            chat_id=ANN, sends=create_document("note.txt", "The key is under the mat"), caption="Where is it?"
        )
        await telegram.wait_for(lambda: telegram.list_calls(DOWNLOAD))
        telegram.user_says("hello", chat_id=STRANGER)
        await telegram.wait_for(lambda: telegram.list_sent(STRANGER))
        assert not telegram.list_sent(ANN)
        telegram.user_says("/stop", chat_id=ANN)
        await telegram.wait_for(lambda: "Stopped." in list_texts(telegram))
        await app.runner.wait_until_idle(f"telegram:{ANN}")
        kept = await app.database.rows(
            "SELECT content FROM messages m JOIN turns t ON t.id = turn_id WHERE outcome = 'stopped'"
        )
        assert [row["content"] for row in kept] == ["[document 1: note.txt; not read yet]", "Where is it?"]
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: list_texts(telegram)[-1] == "You said: Where is it?")
    assert "The key is under the mat" in model.requests[-1].said[0]


@needs_feature("media")
async def test_files_of_many_chats_are_fetched_concurrently(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    people = range(1, 2 * calls.MAX_CONCURRENT_FILES)
    late = asyncio.Event()
    async with serve(telegram_allowed_ids=",".join(map(str, people))):
        telegram.fault("getFile", late=late, times=calls.MAX_CONCURRENT_FILES)
        for person in people:
            telegram.user_says(chat_id=person, sends=create_photo(f"of {person}"), caption="Look")
        model.sees = True
        await telegram.wait_for(lambda: len(telegram.list_calls("getFile")) == calls.MAX_CONCURRENT_FILES)
        late.set()
        await telegram.wait_for(lambda: all(telegram.list_sent(person) for person in people))
