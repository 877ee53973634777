"""A message that waits behind a running turn shows that it was seen, until its own turn begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bot.telegram import preview as reactions
from tests.support.servers.model import Holds
from tests.support.servers.telegram_files import photo
from tests.support.serving import ANN, GROUP, press, texts

if TYPE_CHECKING:
    from bot.app import App
    from tests.support.servers.model import ModelServer
    from tests.support.servers.telegram import BotApiServer
    from tests.support.serving import Serve

EYES = "👀"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show it at once, and take it away as soon as there is room."""
    monkeypatch.setattr(reactions, "REACTION_DELAY_SECONDS", 0.01)
    monkeypatch.setattr(reactions, "RETRY_SECONDS", 0.02)


async def thinking(telegram: BotApiServer, model: ModelServer, held: Holds, chat: int = ANN) -> None:
    """Ann asks something that the model thinks about until it is told to go on."""
    model.script(held)
    says(telegram, "A long question", chat)
    await model.wait_for(lambda: bool(model.requests))


def says(telegram: BotApiServer, text: str, chat: int = ANN) -> int:
    """Ann says it, to the bot; the number of her message."""
    if chat == ANN:
        return telegram.message_id_of(telegram.user_says(text, chat_id=ANN))
    said = telegram.user_says(f"@mneme_test_bot {text}", chat_id=chat, user_id=ANN, chat_type="supergroup")
    return telegram.message_id_of(said)


async def settled(app: App, telegram: BotApiServer, chat: int = ANN) -> None:
    """Wait until nothing runs and no reaction stands any more, nor is known of."""
    await app.runner.idle(f"telegram:{chat}")
    await telegram.wait_for(lambda: not telegram.reactions(chat))


async def test_a_message_that_waits_shows_that_it_was_seen_until_its_turn_begins(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held, second = Holds("thinking"), Holds("thinking on")
    async with serve() as app:
        await thinking(telegram, model, held)
        waiting = [says(telegram, "and this"), says(telegram, "and that")]
        await telegram.wait_for(lambda: len(telegram.reactions(ANN)) == 2)
        assert telegram.reactions(ANN) == dict.fromkeys(waiting, EYES)
        model.script(second)
        held.release.set()
        await telegram.wait_for(lambda: telegram.drafts(ANN)[-1:] == ["thinking on"])
        await telegram.wait_for(lambda: not telegram.reactions(ANN))
        second.release.set()
        await telegram.wait_for(lambda: len(telegram.sent(ANN)) == 2)
        await settled(app, telegram)
        while await app.database.value("SELECT count(*) FROM reactions"):
            await telegram.wait_for(lambda: True)


async def test_a_message_that_is_answered_at_once_gets_none(serve: Serve, telegram: BotApiServer) -> None:
    async with serve() as app:
        for text in ("hello", "/help", "again"):
            before = len(telegram.sent(ANN))
            says(telegram, text)
            await telegram.wait_for(lambda before=before: len(telegram.sent(ANN)) > before)  # type: ignore[misc]  # now
        await app.runner.idle(f"telegram:{ANN}")
    assert telegram.calls_to("setMessageReaction") == []


async def test_what_a_stop_holds_shows_it_until_it_is_answered(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve() as app:
        await thinking(telegram, model, held)
        waiting = says(telegram, "and this")
        await telegram.wait_for(lambda: telegram.reactions(ANN) == {waiting: EYES})
        says(telegram, "/stop")
        await telegram.wait_for(lambda: any("Stopped" in text for text in texts(telegram)))
        assert telegram.reactions(ANN) == {waiting: EYES}
        says(telegram, "go on")
        await telegram.wait_for(lambda: "go on" in texts(telegram)[-1])
        await settled(app, telegram)


async def test_of_an_album_one_message_shows_it_and_a_pressed_button_none(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve() as app:
        says(telegram, "/remember The spare key is at Ann's.")
        await telegram.wait_for(lambda: telegram.sent(ANN))
        await thinking(telegram, model, held)
        press(telegram, "Undo")
        await telegram.wait_for(lambda: telegram.calls_to("answerCallbackQuery"))
        for label in ("sea", "hill"):
            telegram.user_says(chat_id=ANN, sends=photo(label), album="77")
        last = says(telegram, "what is it?")
        await telegram.wait_for(lambda: len(telegram.reactions(ANN)) == 2)
        assert telegram.reactions(ANN).keys() == {last - 2, last}
        held.release.set()
        await settled(app, telegram)


async def test_where_a_chat_takes_no_reactions_it_is_silent_and_does_not_ask_again(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await thinking(telegram, model, held, GROUP)
        telegram.forbid_reactions(GROUP)
        says(telegram, "and this", GROUP)
        await telegram.wait_for(lambda: telegram.calls_to("setMessageReaction"))
        says(telegram, "and that", GROUP)
        held.release.set()
        await telegram.wait_for(lambda: "and that" in str(texts(telegram, GROUP)))
        await app.runner.idle(f"telegram:{GROUP}")
        assert await app.database.value("SELECT count(*) FROM reactions") == 0
    assert [call.error_code for call in telegram.calls_to("setMessageReaction")] == [400]
    assert len(telegram.sent(GROUP)) == 2


async def test_in_a_group_little_is_shown_since_it_counts_among_its_messages(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve(telegram_allowed_ids=f"{ANN},{GROUP}") as app:
        await thinking(telegram, model, held, GROUP)
        waiting = says(telegram, "and this", GROUP)
        await telegram.wait_for(lambda: telegram.reactions(GROUP) == {waiting: EYES})
        for number in range(5):
            says(telegram, f"and number {number}", GROUP)
        await telegram.wait_for(lambda: not telegram.pending_update_ids)
        held.release.set()
        await telegram.wait_for(lambda: "number 4" in str(texts(telegram, GROUP)))
        await settled(app, telegram, GROUP)
    assert len(telegram.calls_to("setMessageReaction")) == 2


async def test_what_a_kill_left_is_taken_away_at_the_next_start(
    serve: Serve, telegram: BotApiServer, model: ModelServer
) -> None:
    held = Holds("thinking")
    async with serve():
        await thinking(telegram, model, held)
        waiting = says(telegram, "and this")
        await telegram.wait_for(lambda: telegram.reactions(ANN) == {waiting: EYES})
    assert telegram.reactions(ANN) == {waiting: EYES}
    async with serve() as app:
        await telegram.wait_for(lambda: "and this" in str(texts(telegram)))
        await settled(app, telegram)
