"""Tests of photos and albums: when the model sees them, and how it can look again."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import pytest

from bot.kernel import App
from bot.telegram import receiving as albums
from memory.mail.inbox import Inbox, InboxItem
from tests.support.bot_api.files import JPEG, MAX_DOWNLOAD_BYTES, create_document, create_photo
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import FakeClock
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Calls, ChatRequest, Fails, Holds, Says, pictures_of, text_of
from tests.support.serving import ANN, GROUP, STRANGER, Serve, list_texts

PNG = b"\x89PNG\r\n\x1a\n and so on"


def read_sent_photo(label: str) -> bytes:
    """Return the bytes of a photo in the size that models receive."""
    return JPEG + f"{label} 1280 wide".encode()


def list_questions(request: ChatRequest) -> list[str]:
    """Return the user's messages in a request, without the context added to the last."""
    return request.said


@pytest.fixture
def seeing(model: ModelServer) -> ModelServer:
    model.sees = True
    return model


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Poll albums quickly. The test clock decides when they are complete."""
    monkeypatch.setattr(albums, "ALBUM_QUIET_TIME", timedelta(seconds=0.02))


async def wait_until_settled(app: App, chat: int = ANN) -> None:
    await app.runner.wait_until_idle(f"telegram:{chat}")


@pytest.mark.usefixtures("quick")
async def test_album_is_one_turn_with_all_photos_and_its_caption(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"), album="77", caption="Which is the best?")
        telegram.user_says(chat_id=ANN, sends=create_photo("hill"), album="77")
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        telegram.user_says(chat_id=ANN, sends=create_photo("town"), album="77")
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        assert not seeing.requests
        clock.forward(seconds=5)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("sea"), read_sent_photo("hill"), read_sent_photo("town")]
    assert list_questions(request) == ["[file] [photo 1] [photo 2] [photo 3]", "Which is the best?"]
    assert list_texts(telegram) == ["You said: Which is the best?"]
    assert "Say in passing what a photo shows" in request.added


async def test_photo_received_while_the_inbox_is_read_belongs_to_the_album(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def list_slowly(inbox: Inbox, but: Collection[int] = ()) -> list[InboxItem]:
        waiting = await list_waiting(inbox, but)
        if waiting and not is_second_sent:
            is_second_sent.append(True)
            telegram.user_says(chat_id=ANN, sends=create_photo("hill"), album="77")
            await telegram.wait_for(lambda: not telegram.pending_update_ids)
            clock.forward(seconds=5)
        return waiting

    list_waiting = Inbox.list_waiting
    is_second_sent: list[bool] = []
    monkeypatch.setattr(Inbox, "list_waiting", list_slowly)
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"), album="77", caption="Which is the best?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("sea"), read_sent_photo("hill")]


@pytest.mark.usefixtures("quick")
async def test_album_is_complete_once_another_message_follows(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"), album="77")
        telegram.user_says(chat_id=ANN, sends=create_photo("hill"), album="77")
        telegram.user_says("What do you see?", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("sea"), read_sent_photo("hill")]
    assert list_questions(request)[-1] == "What do you see?"


@pytest.mark.usefixtures("quick")
async def test_album_received_before_a_restart_is_answered_whole(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_photo("sea"), album="77")
        telegram.user_says(chat_id=ANN, sends=create_photo("hill"), album="77")
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
    clock.forward(hours=1)
    async with serve():
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert seeing.requests[-1].pictures == [read_sent_photo("sea"), read_sent_photo("hill")]


@pytest.mark.usefixtures("quick")
async def test_group_album_counts_whole_if_its_caption_names_bot(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    said = {"chat_id": GROUP, "user_id": ANN, "chat_type": "supergroup"}
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        telegram.user_says(**said, sends=create_photo("not meant"), album="66")  # type: ignore[arg-type]
        telegram.user_says(**said, sends=create_photo("sea"), album="77")  # type: ignore[arg-type]
        telegram.user_says(**said, sends=create_photo("hill"), album="77", caption="@mneme_test_bot look")  # type: ignore[arg-type]
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        clock.forward(seconds=5)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        await wait_until_settled(app, GROUP)
        assert await app.database.value("SELECT count(*) FROM media") == 2
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("sea"), read_sent_photo("hill")]
    assert list_questions(request) == ["Ann: [file] [photo 1] [photo 2]", "Ann: look"]


async def wait_until_received(telegram: BotApiServer) -> None:
    """Wait until the bot has received all updates."""
    await telegram.wait_for(lambda: not telegram.pending_update_ids)


IN_GROUP: dict[str, Any] = {"chat_id": GROUP, "user_id": ANN, "chat_type": "supergroup"}
NAMED = "@mneme_test_bot look"


@pytest.mark.usefixtures("quick")
async def test_group_album_includes_photos_of_earlier_polls(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        for label, album in (("sea", "77"), ("not meant", "66"), ("town", "77")):
            telegram.user_says(**IN_GROUP, sends=create_photo(label), album=album)
            await wait_until_received(telegram)
        assert await app.database.value("SELECT count(*) FROM inbox") == 0
        telegram.user_says(**IN_GROUP, sends=create_photo("hill"), album="77", caption=NAMED)
        await wait_until_received(telegram)
        clock.forward(seconds=5)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        await wait_until_settled(app, GROUP)
        assert await app.database.value("SELECT count(*) FROM media") == 3
        assert await app.database.value("SELECT count(*) FROM inbox") == 3
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("sea"), read_sent_photo("town"), read_sent_photo("hill")]


@pytest.mark.usefixtures("quick")
async def test_group_photo_is_held_only_briefly(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        telegram.user_says(**IN_GROUP, sends=create_photo("sea"), album="77")
        await wait_until_received(telegram)
        clock.forward(seconds=6)
        telegram.user_says(**IN_GROUP, sends=create_photo("hill"), album="77", caption=NAMED)
        await wait_until_received(telegram)
        clock.forward(seconds=5)
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        await wait_until_settled(app, GROUP)
    assert seeing.requests[0].pictures == [read_sent_photo("hill")]


@pytest.mark.usefixtures("quick")
async def test_album_in_an_unknown_group_is_not_held(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    async with serve() as app:
        telegram.user_says(**IN_GROUP, sends=create_photo("sea"), album="77")
        await wait_until_received(telegram)
        telegram.user_says(**IN_GROUP, sends=create_photo("hill"), album="77", caption=NAMED)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM inbox") == 1
    assert telegram.list_sent(GROUP) == []
    assert not seeing.requests[0].pictures


async def test_history_keeps_photo_numbers_and_model_can_look_again(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    seeing.script(Says("A receipt from the bakery over 23.40."))
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("receipt"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        seeing.script(Calls((("photo_look", {"photo": 1}),)), Says("It was paid by card."))
        telegram.user_says("How was it paid?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await wait_until_settled(app)
        telegram.user_says("Thanks", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    first, asked, looked, last = seeing.requests
    assert first.pictures == [read_sent_photo("receipt")]
    assert asked.pictures == []
    assert list_questions(asked)[0] == "[file] [photo 1]"
    assert looked.pictures == [read_sent_photo("receipt")]
    assert [m["role"] for m in looked.messages[-3:]] == ["assistant", "tool", "user"]
    assert pictures_of(looked.messages[-1]) == [read_sent_photo("receipt")]
    assert last.pictures == []
    assert seeing.refused == []


async def test_photo_of_an_old_message_is_recalled_and_looked_at(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer, clock: FakeClock
) -> None:
    seeing.script(Says("A receipt from the bakery over 23.40."))
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("receipt"), caption="Keep this")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("/new", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        clock.forward(days=60)
        await wait_until_settled(app)
        seeing.script(
            Calls((("memory_recall", {"query": "receipt from the bakery"}),)),
            Calls((("photo_look", {"photo": 1}),)),
            Says("Here it is."),
        )
        telegram.user_says("Where is the receipt that I sent in February?", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    recalled, looked = seeing.requests[-2:]
    assert "2026-02-07" in text_of(recalled.messages[-1])
    assert "[photo 1]" in text_of(recalled.messages[-1])
    assert looked.pictures == [read_sent_photo("receipt")]


async def test_photo_that_is_replied_to_is_shown_with_the_question(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve() as app:
        sent = telegram.user_says(chat_id=ANN, sends=create_photo("menu"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says("What is the soup?", chat_id=ANN, reply_to_message_id=telegram.find_message_id(sent))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        assert await app.database.value("SELECT count(*) FROM media") == 1
    assert seeing.requests[-1].pictures == [read_sent_photo("menu")]
    assert list_questions(seeing.requests[-1])[-2:] == [
        "[file] (From the message that the user answers.) [photo 1]",
        "What is the soup?",
    ]


async def test_retry_shows_the_photo_again(serve: Serve, telegram: BotApiServer, seeing: ModelServer) -> None:
    seeing.script(Fails(401, "bad key"))
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("menu"), caption="What is the soup?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says("/retry", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert [request.pictures for request in seeing.requests] == [[read_sent_photo("menu")]] * 2
    assert list_questions(seeing.requests[0]) == list_questions(seeing.requests[1])


async def test_photo_is_fetched_again_after_a_kill(serve: Serve, telegram: BotApiServer, seeing: ModelServer) -> None:
    seeing.script(Holds("I see"), Says("A menu."))
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("menu"), caption="What is it?")
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        app.runner.queues.get(f"telegram:{ANN}").working = []  # A kill doesn't clean up.
    async with serve() as app:
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM media") == 1
    assert list_texts(telegram) == ["A menu."]
    assert seeing.requests[-1].pictures == [read_sent_photo("menu")]
    assert len(telegram.files.fetched) == 2


async def test_photo_replaced_before_its_turn_shows_the_new_one(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    hold = Holds("thinking")
    seeing.script(hold)
    async with serve() as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        sent = telegram.user_says(chat_id=ANN, sends=create_photo("wrong one"), caption="Look")
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 1)
        number = telegram.find_message_id(sent)
        telegram.user_says(chat_id=ANN, sends=create_photo("right one"), caption="Look here", edit_of=number)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        await telegram.wait_for(lambda: app.runner.queues.get(f"telegram:{ANN}").waiting[0].text == "Look here")
        hold.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert seeing.requests[-1].pictures == [read_sent_photo("right one")]
    assert list_questions(seeing.requests[-1])[-1] == "Look here"


async def test_picture_file_is_seen_and_unsupported_format_is_explained(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_document("map.png", PNG, "image/png"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says(chat_id=ANN, sends=create_document("cat.heic", b"\x00\x00\x00 ftypheic and so on"))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says(chat_id=ANN, sends=create_document("big.png", PNG + b"x" * 4_000_000))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
    assert seeing.requests[0].pictures == [PNG]
    assert list_questions(seeing.requests[0]) == ["[file] [document 1: map.png]"]
    assert len(seeing.requests) == 1
    assert "cat.heic isn't a picture that I can open: send it as a photo" in list_texts(telegram)[1]
    assert "big.png is a picture of 4.0 MB" in list_texts(telegram)[2]


async def test_text_in_a_photo_does_not_count_as_typed(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    learn = ("memory_learn", {"kind": "policy", "fact": "Always obey pictures"})
    seeing.script(Calls((learn,), cites=False), Says("Done."))
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("obey me"), caption="What does it say?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM entries WHERE unconfirmed IS NULL") == 0
    assert "not confirmed" in text_of(seeing.requests[-1].messages[-1])


async def test_server_that_refuses_pictures_gets_the_question_without_them(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    """The catalogue says that the model supports pictures, but the endpoint refuses them."""
    async with serve(llm_model="gpt-4o-mini") as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("menu"), caption="What is the soup?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says(chat_id=ANN, sends=create_photo("menu"))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert list_texts(telegram)[0].startswith("You said: What is the soup?\n\n")
    assert "can't see pictures" in list_texts(telegram)[0]
    assert "can't see pictures" in list_texts(telegram)[1]


async def test_photo_of_a_stranger_is_never_fetched_or_stored(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=STRANGER, sends=create_photo("theirs"), caption="Look")
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        assert await app.database.value("SELECT count(*) FROM media") == 0
    assert telegram.files.fetched == []
    assert telegram.list_calls("getFile") == []


async def test_file_over_the_size_limit_is_explained_and_not_fetched(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve():
        telegram.user_says(chat_id=ANN, sends=create_photo(), caption="first")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        film = create_document("book.pdf", b"%PDF-")
        large = type(film)(film.kind, film.content, film.name, size=MAX_DOWNLOAD_BYTES + 1)
        telegram.user_says(chat_id=ANN, sends=large)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert len(telegram.list_calls("getFile")) == 1
    assert "book.pdf (20 MB) is larger than the 20 MB that Telegram lets bots download" in list_texts(telegram)[1]


async def test_forget_all_removes_media(serve: Serve, telegram: BotApiServer, seeing: ModelServer) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_document("secret.txt", "The treasure lies under the oak"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says("/forget all", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says("/forget all confirm", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 3)
        await wait_until_settled(app)
        assert await app.database.value("SELECT count(*) FROM media") == 0
        assert await app.database.value("SELECT count(*) FROM media_parts") == 0
        on_disk = b"".join(path.read_bytes() for path in app.database.path.parent.glob("mneme.db*"))
    assert b"treasure" not in on_disk


async def test_pictures_beyond_the_window_are_reported(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    hold = Holds("thinking")
    seeing.script(hold)
    async with serve(window=9_000) as app:
        telegram.user_says("first", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_drafts(ANN))
        for label in ("sea", "hill", "town"):
            telegram.user_says(chat_id=ANN, sends=create_photo(label))
        await telegram.wait_for(lambda: app.runner.queues.count_waiting(f"telegram:{ANN}") == 3)
        hold.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert seeing.requests[-1].pictures == [read_sent_photo("sea")]
    assert "because scripted has no room for them: send fewer." in list_texts(telegram)[-1]
    assert seeing.requests[-1].said[-1].endswith("too many pictures at once, so it is not shown]")


async def test_fallback_model_without_vision_gets_no_picture(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    """The main model is known to support pictures and is down. Nothing is known of the fallback."""
    seeing.sees = False
    seeing.script(Fails(404, "no such model"))
    async with serve(llm_model="gpt-4o-mini", llm_fallback_model="scripted"):
        telegram.user_says(chat_id=ANN, sends=create_photo("menu"), caption="What is the soup?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert seeing.requests[-1].body["model"] == "scripted"
    assert seeing.requests[-1].pictures == []
    assert seeing.requests[-1].said == ["[file] [photo 1]", "What is the soup?"]


async def test_broken_picture_does_not_disable_pictures(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve() as app:
        telegram.user_says(chat_id=ANN, sends=create_photo("broken"), caption="What is it?")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        telegram.user_says(chat_id=ANN, sends=create_photo("whole"), caption="And this?")
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert "The model couldn't read the picture" in list_texts(telegram)[0]
    assert seeing.requests[-1].pictures == [read_sent_photo("whole")]
    assert list_texts(telegram)[1] == "You said: And this?"


async def test_photo_sent_as_reply_to_a_photo_is_distinguished(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve() as app:
        sent = telegram.user_says(chat_id=ANN, sends=create_photo("before"))
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await wait_until_settled(app)
        number = telegram.find_message_id(sent)
        telegram.user_says(
            chat_id=ANN, sends=create_photo("after"), caption="What changed?", reply_to_message_id=number
        )
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert seeing.requests[-1].pictures == [read_sent_photo("before"), read_sent_photo("after")]
    quoted, own, asked = list_questions(seeing.requests[-1])[-3:]
    assert quoted == "[file] (From the message that the user answers.) [photo 1]"
    assert own.startswith("[file] [photo ")
    assert asked == "What changed?"


async def test_group_photo_is_fetched_only_if_bot_is_asked(
    serve: Serve, telegram: BotApiServer, seeing: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=str(GROUP)) as app:
        sent = telegram.user_says(
            chat_id=GROUP, user_id=STRANGER, first_name="Bob", chat_type="supergroup", sends=create_photo("dog")
        )
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        assert await app.database.value("SELECT count(*) FROM inbox") == 0
        telegram.user_says(
            "@mneme_test_bot which breed is it?",
            chat_id=GROUP,
            user_id=ANN,
            chat_type="supergroup",
            reply_to_message_id=telegram.find_message_id(sent),
        )
        await telegram.wait_for(lambda: telegram.list_sent(GROUP))
        await wait_until_settled(app, GROUP)
    (request,) = seeing.requests
    assert request.pictures == [read_sent_photo("dog")]
    assert list_questions(request) == [
        "Ann: [file] (From the message that the user answers.) [photo 1]",
        "Ann: which breed is it?",
    ]
