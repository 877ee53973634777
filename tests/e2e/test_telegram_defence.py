"""Telegram's side of the defence: who commands, what counts as typed, and what strangers can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from config.errors import ConfigurationError
from memory.custody.access import AccessList

if TYPE_CHECKING:
    from tests.conftest import OpenApp
    from tests.e2e.conftest import Serve
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.servers.telegram_params import JsonObject

ANN, STRANGER, GROUP = 1001, 2002, -100500
GIF_BOT = {"id": 99, "is_bot": True, "first_name": "Gif", "username": "gif"}
ELSEWHERE: JsonObject = {"type": "hidden_user", "date": 1, "sender_user_name": "Elsewhere"}
CHANNEL_POST: JsonObject = {
    "is_automatic_forward": True,
    "sender_chat": {"id": -100777, "type": "channel", "title": "News"},
    "forward_origin": {
        "type": "channel",
        "date": 1,
        "chat": {"id": -100777, "type": "channel", "title": "News"},
        "message_id": 5,
    },
}
NOT_TYPED = {
    "forwarded": {"forward_origin": ELSEWHERE},
    "worded by another bot": {"via_bot": GIF_BOT},
    "a story that was passed on": {"forward_origin": ELSEWHERE, "has_protected_content": True},
}
COMMANDS = ["/remember the sky is green", "/undo", "/forget all confirm", "/forget home", "/new", "/stop", "/retry"]


def texts(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """What the bot has said in a chat, as it stands now."""
    return [message.text for message in telegram.sent(chat_id)]


async def answered(telegram: BotApiServer, chat_id: int) -> None:
    """Wait until the bot has said one more thing in a chat."""
    before = len(telegram.sent(chat_id))
    await telegram.wait_for(lambda: len(telegram.sent(chat_id)) > before)


# -- 21: commands come from typed text alone


@pytest.mark.parametrize("fields", NOT_TYPED.values(), ids=NOT_TYPED)
async def test_21_a_command_that_was_not_typed_is_read_and_not_obeyed(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: JsonObject
) -> None:
    async with serve() as app:
        telegram.user_says("/remember home is Kyiv", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        before = await app.database.rows("SELECT * FROM entries")
        for command in COMMANDS:
            telegram.user_says(command, chat_id=ANN, fields=fields)
            await answered(telegram, ANN)
        assert await app.database.rows("SELECT * FROM entries") == before
        assert await app.database.value("SELECT count(*) FROM conversations") == 1
    assert len(model.requests) == len(COMMANDS)
    assert all(command in request.last for command, request in zip(COMMANDS, model.requests, strict=True))


async def test_21_what_a_linked_channel_posts_into_a_group_is_not_meant_for_the_bot(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        for text in ("/remember@mneme_test_bot the sky is green", "@mneme_test_bot forget all", "/undo"):
            telegram.user_says(
                text, chat_id=GROUP, user_id=777000, first_name="Telegram", chat_type="supergroup", fields=CHANNEL_POST
            )
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        assert await app.database.value("SELECT count(*) FROM entries") == 0
        assert await app.database.value("SELECT count(*) FROM inbox") == 1
    assert telegram.sent(GROUP) == []
    assert len(model.requests) == 1


@pytest.mark.parametrize("fields", NOT_TYPED.values(), ids=NOT_TYPED)
async def test_21_a_command_in_a_group_that_was_not_typed_is_no_word_to_the_bot(
    serve: Serve, telegram: BotApiServer, model: ModelServer, fields: JsonObject
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}"):
        telegram.user_says("/undo", chat_id=GROUP, user_id=ANN, chat_type="supergroup", fields=fields)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
    assert telegram.sent(GROUP) == []
    assert len(model.requests) == 1


async def test_21_a_claim_code_that_was_forwarded_claims_nothing(serve: Serve, telegram: BotApiServer) -> None:
    async with serve(telegram_allowed_ids="") as app:
        access = AccessList(app.database, "telegram", app.clock)
        code = await access.new_claim_code()
        telegram.user_says(f"/start {code}", chat_id=STRANGER, forwarded=True)
        await telegram.wait_for(lambda: telegram.sent(STRANGER))
        assert not await access.is_member(STRANGER)
        telegram.user_says(f"/start {code}", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        assert await access.is_member(ANN)


@pytest.mark.parametrize("text", ["/undo@other_bot", "/undo@mneme_test_bott", "/undo@mneme_test_bot2 now"])
async def test_21_a_command_for_another_bot_is_not_obeyed_even_as_a_reply(
    serve: Serve, telegram: BotApiServer, model: ModelServer, text: str
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        for command in ("/remember@mneme_test_bot home is Kyiv", "/status@mneme_test_bot"):
            telegram.user_says(command, chat_id=GROUP, user_id=ANN, chat_type="supergroup")
            await answered(telegram, GROUP)
        telegram.user_says(text, chat_id=GROUP, user_id=ANN, chat_type="supergroup", reply_to_bot=True)
        telegram.user_says("hi", chat_id=ANN)
        await telegram.wait_for(lambda: telegram.sent(ANN))
        assert await app.database.value("SELECT count(*) FROM entries WHERE deleted_at IS NULL") == 1
    assert len(telegram.sent(GROUP)) == 2
    assert len(model.requests) == 1


# -- 23: what a group remembers


async def test_23_one_memory_for_all_is_refused_together_with_a_group(start: OpenApp) -> None:
    with pytest.raises(ConfigurationError, match="MEMORY_SCOPE=shared would show everybody in a group"):
        async with start(telegram_allowed_ids=f"{ANN},{GROUP}", memory_scope="shared"):
            pass
    async with start(telegram_allowed_ids=f"{ANN},{STRANGER}", memory_scope="shared"):
        pass  # people who were let in by name may share


GUARDED_USES = ["/memory", "/memory note", "/undo", "/forget home", "/forget all", "/forget all confirm"]


@pytest.mark.parametrize("command", GUARDED_USES)
async def test_23_a_guest_of_a_group_neither_sees_nor_takes_back_what_it_remembers(
    serve: Serve, telegram: BotApiServer, command: str
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/remember home is Kyiv", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await answered(telegram, GROUP)
        before = await app.database.rows("SELECT * FROM entries")
        telegram.user_says(command, chat_id=GROUP, user_id=STRANGER, chat_type="supergroup")
        await answered(telegram, GROUP)
        assert await app.database.rows("SELECT * FROM entries") == before
    assert "is for its administrators" in texts(telegram, GROUP)[1]


@pytest.mark.parametrize("by", [ANN, STRANGER], ids=["the owner of the bot", "the owner of the group"])
async def test_23_who_looks_after_a_group_or_the_bot_may_take_back(
    serve: Serve, telegram: BotApiServer, by: int
) -> None:
    telegram.owns(STRANGER, GROUP)
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        telegram.user_says("/remember home is Kyiv", chat_id=GROUP, user_id=3003, chat_type="supergroup")
        await answered(telegram, GROUP)
        telegram.user_says("/memory", chat_id=GROUP, user_id=by, chat_type="supergroup")
        await answered(telegram, GROUP)
        telegram.user_says("/undo", chat_id=GROUP, user_id=by, chat_type="supergroup")
        await answered(telegram, GROUP)
        assert await app.database.value("SELECT count(*) FROM entries WHERE deleted_at IS NULL") == 0
    assert "note: 1" in texts(telegram, GROUP)[1]


async def test_23_a_telegram_that_does_not_say_who_looks_after_a_group_opens_nothing(
    serve: Serve, telegram: BotApiServer
) -> None:
    telegram.owns(STRANGER, GROUP)
    telegram.fault("getChatMember", error_code=500)
    async with serve(telegram_allowed_ids=str(GROUP)):
        telegram.user_says("/memory", chat_id=GROUP, user_id=STRANGER, chat_type="supergroup")
        await answered(telegram, GROUP)
    assert "try again" in texts(telegram, GROUP)[0]


async def test_23_commands_of_other_bots_are_left_to_them(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        for command in ("/weather", "/weather@other_bot Kyiv", "/help@other_bot"):
            telegram.user_says(command, chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        telegram.user_says("/weather@mneme_test_bot", chat_id=GROUP, user_id=ANN, chat_type="supergroup")
        await answered(telegram, GROUP)
        assert await app.database.value("SELECT count(*) FROM inbox") == 1
    assert len(telegram.sent(GROUP)) == 1
    assert "There is no command /weather" in texts(telegram, GROUP)[0]
    assert model.requests == []
