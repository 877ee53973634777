"""Tests that one update can't block others, and that repeated updates are answered once."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from bot.telegram.raw_updates import RawUpdate
from memory.mail.inbox import Inbox
from tests.support.bot_api.params import JsonObject
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.serving import ANN, GROUP, Serve, list_texts

HUGE = 2**63
DEEP: JsonObject = {}
for _ in range(400):
    DEEP = {"a": [DEEP]}
SPOILED: dict[str, tuple[str, object]] = {
    "an id of a message": ("message_id", HUGE),
    "an id of a person": ("from", {"id": HUGE, "is_bot": False, "first_name": "Ann"}),
    "an id of a chat": ("chat", {"id": HUGE, "type": "private", "first_name": "Ann"}),
    "an id that is a list": ("from", {"id": [ANN], "is_bot": False, "first_name": "Ann"}),
    "a date": ("date", HUGE),
    "the size of a file": ("document", {"file_id": "x", "file_unique_id": "y", "file_size": HUGE}),
    "a number of 5,000 digits": ("edit_date", 10**3000),
    "a text that is no text": ("text", {"a": 1}),
    "nesting": ("reply_to_message", DEEP),
}


@pytest.mark.parametrize("spoiled", SPOILED.values(), ids=SPOILED.keys())
async def test_unstorable_update_is_skipped_and_its_neighbours_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer, spoiled: tuple[str, object]
) -> None:
    with capture_logs() as logs:
        async with serve(ready=False) as app:
            telegram.user_says("before", chat_id=ANN)
            telegram.spoil(telegram.user_says("xyzzy", chat_id=ANN), *spoiled)
            telegram.user_says("after", chat_id=ANN)
            await telegram.wait_for(
                lambda: "You said: after" in list_texts(telegram) and not telegram.pending_update_ids
            )
            assert {"before", "after"} <= set(model.requests[-1].said)
            assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert "xyzzy" not in str(logs)


async def test_text_with_a_lone_surrogate_is_answered(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    async with serve():
        telegram.user_says("a \ud83d b", chat_id=ANN, first_name="\udc00")
        telegram.user_says("@mneme_test_bot \udfff", chat_id=ANN)
        await telegram.wait_for(lambda: len(model.requests) > 0 and not telegram.pending_update_ids)
        await telegram.wait_for(lambda: "\ufffd" in " ".join(list_texts(telegram)))


async def test_update_id_over_64_bits_is_confirmed_and_hides_none(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        telegram.fault("getUpdates", error_code=500)
        telegram.renumber(telegram.user_says("hello", chat_id=ANN), HUGE)
        await telegram.wait_for(lambda: "I couldn't read your last message" in " ".join(list_texts(telegram)))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        telegram.user_says("after", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: after" in list_texts(telegram))
        assert await app.database.value("SELECT count(*) FROM set_aside") == 0
    assert len(telegram.list_sent(ANN)) == 2


def create_body(*updates: JsonObject, depth: int) -> bytes:
    """Return a response to a poll with a first update that is nested too deep to parse."""
    written = json.dumps({"ok": True, "result": list(updates)}).encode()
    return written.replace(b'"deep"', b"[" * depth + b"]" * depth, 1)


def create_message(number: int, text: str, **fields: object) -> JsonObject:
    """Return an update with a message from Ann."""
    person = {"id": ANN, "is_bot": False, "first_name": "Ann"}
    chat = {"id": ANN, "type": "private", "first_name": "Ann"}
    content = {"message_id": number, "from": person, "chat": chat, "date": 1_770_000_000, "text": text}
    return {"update_id": number, "message": content | fields}


async def test_unreadable_poll_is_read_one_by_one(serve: Serve, telegram: BotApiServer) -> None:
    deep, good = create_message(5, "xyzzy", x="deep"), create_message(6, "after")
    telegram.register_chat(ANN)
    with capture_logs() as logs:
        async with serve():
            telegram.fault("getUpdates", body=create_body(deep, good, depth=100_000))
            telegram.fault("getUpdates", body=create_body(deep, depth=100_000))
            telegram.fault("getUpdates", body=create_body(good, depth=0))
            telegram.user_says("before", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: after" in list_texts(telegram))
            polls = [call.params for call in telegram.list_calls("getUpdates")]
    assert [poll["limit"] for poll in polls].count(1) == 1
    assert {6, 7} <= {poll.get("offset") for poll in polls}
    assert "I couldn't read your last message" in " ".join(list_texts(telegram))
    assert "xyzzy" not in str(logs)


async def test_update_refused_by_the_inbox_does_not_block_others(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other updates of a poll are stored even if one update fails."""
    receive = Inbox.receive

    async def picky(self: Inbox, updates: list[object]) -> None:
        if any("poison" in str(update) for update in updates):
            raise OverflowError
        await receive(self, updates)  # type: ignore[arg-type]  # Passed on unchanged.

    monkeypatch.setattr(Inbox, "receive", picky)
    async with serve(ready=False):
        for text in ("before", "poison", "after"):
            telegram.user_says(text, chat_id=ANN)
        await telegram.wait_for(lambda: "You said: after" in list_texts(telegram))
        assert model.requests[-1].said == ["before", "after"]
        await telegram.wait_for(lambda: "I couldn't read" in " ".join(list_texts(telegram)))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)


def test_unserialisable_update_keeps_its_chat() -> None:
    update = create_message(7, "hello")
    update["message"]["x"] = 10**5000
    kept = RawUpdate.from_json(update)
    assert (kept.id, json.loads(kept.payload)["message"]["chat"]) == (7, {"id": ANN, "type": "private"})
    nothing: object
    for nothing in (None, [], {}, {"update_id": "x"}, 7):
        with pytest.raises(ValueError, match="number"):
            RawUpdate.from_json(nothing)


# Responses of Telegram.


UNREADABLE_REPLIES = {
    "cut off": b'{"ok":true,"result":{"message_id":77',
    "nothing": b"",
    "true": b'{"ok":true,"result":true}',
    "no date": b'{"ok":true,"result":{"message_id":77}}',
    "nested without end": b'{"ok":true,"result":' + b"[" * 100_000,
}


@pytest.mark.parametrize("reply", UNREADABLE_REPLIES.values(), ids=UNREADABLE_REPLIES.keys())
async def test_unreadable_confirmation_is_in_doubt_once(serve: Serve, telegram: BotApiServer, reply: bytes) -> None:
    async with serve() as app:
        telegram.fault("sendMessage", body=reply, applied=True, times=None)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 4)
        telegram.clear_faults()
        telegram.user_says("last", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: last" in list_texts(telegram))
        states = await app.database.rows("SELECT DISTINCT state FROM outbox WHERE text <> 'You said: last'")
    assert list_texts(telegram) == ["You said: hello"] * 2 + ["You said: next"] * 2 + ["You said: last"]
    assert [row["state"] for row in states] == ["sent"]


async def test_single_unreadable_confirmation_ends_with_the_next(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        telegram.fault("sendMessage", body=b"{", applied=True)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in list_texts(telegram))
    assert len(telegram.list_sent(ANN)) == 3


# One message in several updates.


@pytest.mark.parametrize("together", [True, False], ids=["in one poll", "in three"])
async def test_message_in_three_updates_is_answered_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer, *, together: bool
) -> None:
    async with serve(ready=not together):
        first = telegram.user_says("hello", chat_id=ANN)
        for _ in range(2):
            if not together:
                await telegram.wait_for(lambda: telegram.list_sent(ANN))
            telegram.delivers_again(first)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in list_texts(telegram))
    assert model.requests[-1].said.count("hello") == 1
    assert len(telegram.list_sent(ANN)) == len(model.requests)


async def test_edit_is_not_treated_as_a_repeated_message(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        first = telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        telegram.user_says("hello there", chat_id=ANN, edit_of=telegram.find_message_id(first))
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
    assert "before you edited it" in list_texts(telegram)[1]


# Anonymous senders.

ANONYMOUS: JsonObject = {
    "from": {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"},
    "sender_chat": {"id": GROUP, "type": "supergroup", "title": "Some people"},
}
AS_A_CHANNEL: JsonObject = {
    "from": {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"},
    "sender_chat": {"id": -100777, "type": "channel", "title": "News"},
}


@pytest.mark.parametrize("fields", [ANONYMOUS, AS_A_CHANNEL], ids=["as the group", "as a channel"])
async def test_anonymous_sender_is_answered_with_an_explanation_only(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: JsonObject
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        for text in ("nice weather", "/undo@mneme_test_bot", "@mneme_test_bot hello"):
            telegram.user_says(text, chat_id=GROUP, user_id=ANN, chat_type="supergroup", fields=fields)
        await telegram.wait_for(lambda: len(telegram.list_calls("sendMessage")) == 2)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    told = [call.params["text"] for call in telegram.list_calls("sendMessage")]
    assert all(text.startswith("You're writing as a group or a channel") for text in told)
    assert model.requests == []


async def test_bot_in_a_group_gets_no_answer(serve: Serve, telegram: BotApiServer) -> None:
    other = {"from": {"id": 99, "is_bot": True, "first_name": "Gif", "username": "gif"}}
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("@mneme_test_bot hi", chat_id=GROUP, user_id=99, chat_type="supergroup", fields=other)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
    assert [call.params["chat_id"] for call in telegram.list_calls("sendMessage")] == [ANN]
