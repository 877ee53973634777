"""One update can't stop the others, whatever is in it; and one message is answered once, however often it comes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from bot.telegram.updates import RawUpdate
from memory.mail.mailbox import Mailbox
from tests.support.serving import ANN, GROUP, texts

if TYPE_CHECKING:
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.servers.telegram_params import JsonObject
    from tests.support.serving import Serve

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
async def test_an_update_that_can_not_be_kept_is_skipped_and_those_around_it_are_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer, spoiled: tuple[str, object]
) -> None:
    with capture_logs() as logs:
        async with serve(ready=False) as app:
            telegram.user_says("before", chat_id=ANN)
            telegram.spoil(telegram.user_says("xyzzy", chat_id=ANN), *spoiled)
            telegram.user_says("after", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: after" in texts(telegram) and not telegram.pending_update_ids)
            assert {"before", "after"} <= set(model.requests[-1].said)
            assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    assert "xyzzy" not in str(logs)


async def test_half_of_a_pair_of_surrogates_is_answered_like_any_other_text(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve():
        telegram.user_says("a \ud83d b", chat_id=ANN, first_name="\udc00")
        telegram.user_says("@mneme_test_bot \udfff", chat_id=ANN)
        await telegram.wait_for(lambda: len(model.requests) > 0 and not telegram.pending_update_ids)
        await telegram.wait_for(lambda: "\ufffd" in " ".join(texts(telegram)))


async def test_the_number_of_an_update_that_no_database_holds_is_confirmed_and_hides_no_later_one(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve() as app:
        telegram.fault("getUpdates", error_code=500)
        telegram.renumber(telegram.user_says("hello", chat_id=ANN), HUGE)
        await telegram.wait_for(lambda: "I couldn't read your last message" in " ".join(texts(telegram)))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        telegram.user_says("after", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: after" in texts(telegram))
        assert await app.database.value("SELECT count(*) FROM set_aside") == 0
    assert len(telegram.sent(ANN)) == 2


def body(*updates: JsonObject, depth: int) -> bytes:
    """The answer to a poll whose first update is nested so deep that JSON can't be read."""
    written = json.dumps({"ok": True, "result": list(updates)}).encode()
    return written.replace(b'"deep"', b"[" * depth + b"]" * depth, 1)


def message(number: int, text: str, **fields: object) -> JsonObject:
    """An update with a message of Ann's."""
    person = {"id": ANN, "is_bot": False, "first_name": "Ann"}
    chat = {"id": ANN, "type": "private", "first_name": "Ann"}
    content = {"message_id": number, "from": person, "chat": chat, "date": 1_770_000_000, "text": text}
    return {"update_id": number, "message": content | fields}


async def test_a_poll_that_can_not_be_read_whole_is_read_one_by_one_and_only_what_is_wrong_is_skipped(
    serve: Serve, telegram: BotApiServer
) -> None:
    deep, good = message(5, "xyzzy", x="deep"), message(6, "after")
    telegram.register_chat(ANN)
    with capture_logs() as logs:
        async with serve():
            telegram.fault("getUpdates", body=body(deep, good, depth=100_000))
            telegram.fault("getUpdates", body=body(deep, depth=100_000))
            telegram.fault("getUpdates", body=body(good, depth=0))
            telegram.user_says("before", chat_id=ANN)
            await telegram.wait_for(lambda: "You said: after" in texts(telegram))
            polls = [call.params for call in telegram.calls_to("getUpdates")]
    assert [poll["limit"] for poll in polls].count(1) == 1
    assert {6, 7} <= {poll.get("offset") for poll in polls}
    assert "I couldn't read your last message" in " ".join(texts(telegram))
    assert "xyzzy" not in str(logs)


async def test_what_the_inbox_does_not_take_of_one_takes_nothing_with_it(
    serve: Serve, telegram: BotApiServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However an update may be wrong: the rest of a poll is kept."""
    receive = Mailbox.receive

    async def picky(self: Mailbox, updates: list[object]) -> None:
        if any("poison" in str(update) for update in updates):
            raise OverflowError
        await receive(self, updates)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Mailbox, "receive", picky)
    async with serve(ready=False):
        for text in ("before", "poison", "after"):
            telegram.user_says(text, chat_id=ANN)
        await telegram.wait_for(lambda: "You said: after" in texts(telegram))
        assert model.requests[-1].said == ["before", "after"]
        await telegram.wait_for(lambda: "I couldn't read" in " ".join(texts(telegram)))
        await telegram.wait_for(lambda: not telegram.pending_update_ids)


def test_what_can_be_parsed_and_not_written_down_keeps_who_is_to_be_told() -> None:
    update = message(7, "hello")
    update["message"]["x"] = 10**5000
    kept = RawUpdate.from_json(update)
    assert (kept.id, json.loads(kept.payload)["message"]["chat"]) == (7, {"id": ANN, "type": "private"})
    nothing: object
    for nothing in (None, [], {}, {"update_id": "x"}, 7):
        with pytest.raises(ValueError, match="number"):
            RawUpdate.from_json(nothing)


# -- replies of Telegram's


UNREADABLE_REPLIES = {
    "cut off": b'{"ok":true,"result":{"message_id":77',
    "nothing": b"",
    "true": b'{"ok":true,"result":true}',
    "no date": b'{"ok":true,"result":{"message_id":77}}',
    "nested without end": b'{"ok":true,"result":' + b"[" * 100_000,
}


@pytest.mark.parametrize("reply", UNREADABLE_REPLIES.values(), ids=UNREADABLE_REPLIES.keys())
async def test_a_confirmation_that_can_not_be_read_is_in_doubt_once_and_the_next_answer_comes(
    serve: Serve, telegram: BotApiServer, reply: bytes
) -> None:
    async with serve() as app:
        telegram.fault("sendMessage", body=reply, applied=True, times=None)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 4)
        telegram.clear_faults()
        telegram.user_says("last", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: last" in texts(telegram))
        states = await app.database.rows("SELECT DISTINCT state FROM outbox WHERE text <> 'You said: last'")
    assert texts(telegram) == ["You said: hello"] * 2 + ["You said: next"] * 2 + ["You said: last"]
    assert [row["state"] for row in states] == ["sent"]


async def test_a_confirmation_that_can_not_be_read_once_ends_with_the_next(
    serve: Serve, telegram: BotApiServer
) -> None:
    async with serve():
        telegram.fault("sendMessage", body=b"{", applied=True)
        telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in texts(telegram))
    assert len(telegram.sent(ANN)) == 3


# -- one message, several updates


@pytest.mark.parametrize("together", [True, False], ids=["in one poll", "in three"])
async def test_a_message_that_three_updates_bring_is_answered_once(
    serve: Serve, telegram: BotApiServer, model: ModelServer, *, together: bool
) -> None:
    async with serve(ready=not together):
        first = telegram.user_says("hello", chat_id=ANN)
        for _ in range(2):
            if not together:
                await telegram.wait_for(lambda: telegram.sent(ANN))
            telegram.delivers_again(first)
        telegram.user_says("next", chat_id=ANN)
        await telegram.wait_for(lambda: "You said: next" in texts(telegram))
    assert model.requests[-1].said.count("hello") == 1
    assert len(telegram.sent(ANN)) == len(model.requests)


async def test_the_edit_of_a_message_is_not_that_message_again(serve: Serve, telegram: BotApiServer) -> None:
    async with serve():
        first = telegram.user_says("hello", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        telegram.user_says("hello there", chat_id=ANN, edit_of=telegram.message_id_of(first))
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
    assert "before you edited it" in texts(telegram)[1]


# -- who writes in nobody's name

ANONYMOUS: JsonObject = {
    "from": {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"},
    "sender_chat": {"id": GROUP, "type": "supergroup", "title": "Some people"},
}
AS_A_CHANNEL: JsonObject = {
    "from": {"id": 136817688, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"},
    "sender_chat": {"id": -100777, "type": "channel", "title": "News"},
}


@pytest.mark.parametrize("fields", [ANONYMOUS, AS_A_CHANNEL], ids=["as the group", "as a channel"])
async def test_who_writes_in_the_name_of_a_chat_gets_a_sentence_and_no_turn(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: JsonObject
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        for text in ("nice weather", "/undo@mneme_test_bot", "@mneme_test_bot hello"):
            telegram.user_says(text, chat_id=GROUP, user_id=ANN, chat_type="supergroup", fields=fields)
        await telegram.wait_for(lambda: len(telegram.calls_to("sendMessage")) == 2)
        assert await app.database.value("SELECT count(*) FROM inbox WHERE state <> 'done'") == 0
    told = [call.params["text"] for call in telegram.calls_to("sendMessage")]
    assert all(text.startswith("You write in the name of a group or a channel") for text in told)
    assert model.requests == []


async def test_a_bot_that_talks_in_a_group_gets_no_answer(serve: Serve, telegram: BotApiServer) -> None:
    other = {"from": {"id": 99, "is_bot": True, "first_name": "Gif", "username": "gif"}}
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("@mneme_test_bot hi", chat_id=GROUP, user_id=99, chat_type="supergroup", fields=other)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
    assert [call.params["chat_id"] for call in telegram.calls_to("sendMessage")] == [ANN]
