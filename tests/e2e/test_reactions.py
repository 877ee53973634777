"""Tests of the reaction on messages that wait behind a running turn."""

from __future__ import annotations

import pytest

from bot.kernel import App
from bot.telegram import preview as reactions
from tests.support.bot_api.files import create_photo
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds
from tests.support.serving import ANN, GROUP, Serve, list_texts, press

EYES = "👀"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """React at once, and remove reactions soon."""
    monkeypatch.setattr(reactions, "REACTION_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(reactions, "RETRY_SECONDS", 0.02)


async def start_long_turn(telegram: BotApiServer, model: ModelServer, held: Holds, chat: int = ANN) -> None:
    """Ask something as Ann, which the model answers once `held` is released."""
    model.script(held)
    send_message(telegram, "A long question", chat)
    await model.wait_for(lambda: bool(model.requests))


def send_message(telegram: BotApiServer, text: str, chat: int = ANN) -> int:
    """Send a message to the bot as Ann and return its id."""
    if chat == ANN:
        return telegram.find_message_id(telegram.user_says(text, chat_id=ANN))
    said = telegram.user_says(f"@mneme_test_bot {text}", chat_id=chat, user_id=ANN, chat_type="supergroup")
    return telegram.find_message_id(said)


async def wait_until_settled(app: App, telegram: BotApiServer, chat: int = ANN) -> None:
    """Wait until nothing runs and no reactions remain."""
    await app.runner.wait_until_idle(f"telegram:{chat}")
    await telegram.wait_for(lambda: not telegram.list_reactions(chat))


async def test_waiting_message_has_a_reaction_until_its_turn_begins(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held, second = Holds("thinking"), Holds("thinking on")
    async with serve() as app:
        await start_long_turn(telegram, model, held)
        waiting = [send_message(telegram, "and this"), send_message(telegram, "and that")]
        await telegram.wait_for(lambda: len(telegram.list_reactions(ANN)) == 2)
        assert telegram.list_reactions(ANN) == dict.fromkeys(waiting, EYES)
        model.script(second)
        held.release.set()
        await telegram.wait_for(lambda: telegram.list_drafts(ANN)[-1:] == ["thinking on"])
        await telegram.wait_for(lambda: not telegram.list_reactions(ANN))
        second.release.set()
        await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) == 2)
        await wait_until_settled(app, telegram)
        while await app.database.value("SELECT count(*) FROM reactions"):
            await telegram.wait_for(lambda: True)


async def test_message_answered_at_once_gets_no_reaction(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        for text in ("hello", "/help", "again"):
            before = len(telegram.list_sent(ANN))
            send_message(telegram, text)
            await telegram.wait_for(lambda before=before: len(telegram.list_sent(ANN)) > before)  # type: ignore[misc]  # Now.
        await app.runner.wait_until_idle(f"telegram:{ANN}")
    assert telegram.list_calls("setMessageReaction") == []


async def test_message_held_by_stop_keeps_its_reaction_until_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve() as app:
        await start_long_turn(telegram, model, held)
        waiting = send_message(telegram, "and this")
        await telegram.wait_for(lambda: telegram.list_reactions(ANN) == {waiting: EYES})
        send_message(telegram, "/stop")
        await telegram.wait_for(lambda: any("Stopped" in text for text in list_texts(telegram)))
        assert telegram.list_reactions(ANN) == {waiting: EYES}
        send_message(telegram, "go on")
        await telegram.wait_for(lambda: "go on" in list_texts(telegram)[-1])
        await wait_until_settled(app, telegram)


async def test_album_gets_one_reaction_and_a_button_none(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve() as app:
        send_message(telegram, "/remember The spare key is at Ann's.")
        await telegram.wait_for(lambda: telegram.list_sent(ANN))
        await start_long_turn(telegram, model, held)
        press(telegram, "Undo")
        await telegram.wait_for(lambda: telegram.list_calls("answerCallbackQuery"))
        for label in ("sea", "hill"):
            telegram.user_says(chat_id=ANN, sends=create_photo(label), album="77")
        last = send_message(telegram, "what is it?")
        await telegram.wait_for(lambda: len(telegram.list_reactions(ANN)) == 2)
        assert telegram.list_reactions(ANN).keys() == {last - 2, last}
        held.release.set()
        await wait_until_settled(app, telegram)


async def test_chat_without_reactions_is_asked_once(serve: Serve, telegram: BotApiServer, model: ModelServer) -> None:
    held = Holds("thinking")
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await start_long_turn(telegram, model, held, GROUP)
        telegram.forbid_reactions(GROUP)
        send_message(telegram, "and this", GROUP)
        await telegram.wait_for(lambda: telegram.list_calls("setMessageReaction"))
        send_message(telegram, "and that", GROUP)
        held.release.set()
        await telegram.wait_for(lambda: "and that" in str(list_texts(telegram, GROUP)))
        await app.runner.wait_until_idle(f"telegram:{GROUP}")
        assert await app.database.value("SELECT count(*) FROM reactions") == 0
    assert [call.error_code for call in telegram.list_calls("setMessageReaction")] == [400]
    assert len(telegram.list_sent(GROUP)) == 2


async def test_group_reactions_are_few_because_they_count_as_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await start_long_turn(telegram, model, held, GROUP)
        waiting = send_message(telegram, "and this", GROUP)
        await telegram.wait_for(lambda: telegram.list_reactions(GROUP) == {waiting: EYES})
        for number in range(5):
            send_message(telegram, f"and number {number}", GROUP)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        held.release.set()
        await telegram.wait_for(lambda: "number 4" in str(list_texts(telegram, GROUP)))
        await wait_until_settled(app, telegram, GROUP)
    assert len(telegram.list_calls("setMessageReaction")) == 2


async def test_reaction_left_by_a_kill_is_removed_at_start(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve():
        await start_long_turn(telegram, model, held)
        waiting = send_message(telegram, "and this")
        await telegram.wait_for(lambda: telegram.list_reactions(ANN) == {waiting: EYES})
    assert telegram.list_reactions(ANN) == {waiting: EYES}
    async with serve() as app:
        await telegram.wait_for(lambda: "and this" in str(list_texts(telegram)))
        await wait_until_settled(app, telegram)
