"""Where a session stands: active, paused while /stop holds messages back, terminated when the bot was blocked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from telegram.ext import ExtBot

from bot.telegram.features import ServerFeatures
from bot.telegram.outbox import OutboxSender
from bot.telegram.rendering import Chunk
from memory.log.sessions import Address, SessionState
from memory.mail.mailbox import Mailbox
from memory.runtime.menu_cache import MenuCache
from tests.support.fakes import Person
from tests.support.servers.model import Holds
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from bot.app import App
    from tests.support.servers.model import ModelServer


async def state(app: App, address: Address) -> SessionState:
    return (await app.sessions.get_or_create(address)).state


async def test_a_session_pauses_while_stop_holds_messages_and_goes_on_with_the_next(
    app: App, person: Person, model: ModelServer
) -> None:
    model.script(Holds("thinking"))
    await person.sends("first")
    await person.sees("thinking")
    await person.sends("second")
    assert await state(app, person.address) is SessionState.ACTIVE
    await person.sends("/stop")
    await person.sees("Stopped. One waiting message")
    await app.runner.idle(person.address.session_id)
    assert await state(app, person.address) is SessionState.PAUSED
    await person.says("/status")
    assert await state(app, person.address) is SessionState.PAUSED
    await person.says("third")
    assert await state(app, person.address) is SessionState.ACTIVE
    assert model.requests[-1].said[-2:] == ["second", "third"]


async def test_a_stop_that_holds_nothing_leaves_the_session_active(
    app: App, person: Person, model: ModelServer
) -> None:
    model.script(Holds("thinking"))
    await person.sends("first")
    await person.sees("thinking")
    await person.says("/stop")
    assert await state(app, person.address) is SessionState.ACTIVE


async def test_a_session_ends_when_the_person_blocks_the_bot_and_goes_on_when_they_are_back(app: App) -> None:
    person = Person(app, Address("telegram", "1001"))
    await app.sessions.get_or_create(person.address)
    await reply(app, 400, "Bad Request: message is too odd")
    assert await state(app, person.address) is SessionState.ACTIVE
    await reply(app, 403, "Forbidden: bot was blocked by the user")
    assert await state(app, person.address) is SessionState.TERMINATED
    await person.says("/help")
    assert await state(app, person.address) is SessionState.ACTIVE
    await reply(app, 403, "Forbidden: bot was blocked by the user")
    await person.says("hello")
    assert await state(app, person.address) is SessionState.ACTIVE


async def reply(app: App, error_code: int, description: str) -> None:
    """Send a reply that Telegram refuses."""
    async with BotApiServer() as telegram:
        telegram.register_chat(1001)
        telegram.fault("sendMessage", error_code=error_code, description=description)
        async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
            mailbox = Mailbox(app.database, "telegram", app.clock)
            features = ServerFeatures(MenuCache(app.database, "telegram"), bot.id, app.clock)
            outbox = OutboxSender(bot, mailbox, app.runner.languages, features, app.memory.preferences)
            await mailbox.answer("telegram:1001", "hello")
            outbox.kick("telegram:1001")
            await outbox.close()
            assert await mailbox.unsent() == []


async def test_a_preview_that_shows_the_whole_reply_already_is_not_edited_again(app: App) -> None:
    async with BotApiServer() as telegram:
        telegram.register_chat(1001)
        async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
            preview = str((await bot.send_message(1001, "hello")).message_id)
            mailbox = Mailbox(app.database, "telegram", app.clock)
            features = ServerFeatures(MenuCache(app.database, "telegram"), bot.id, app.clock)
            outbox = OutboxSender(bot, mailbox, app.runner.languages, features, app.memory.preferences)
            for text in ("hello", "hello again"):
                outbox.shown["telegram:1001"] = preview, Chunk("hello")
                await mailbox.answer("telegram:1001", text, replaces=preview)
                outbox.kick("telegram:1001")
                await outbox.close()
            assert await mailbox.unsent() == []
        assert [call.params["text"] for call in telegram.calls_to("editMessageText")] == ["hello again"]
