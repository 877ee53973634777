"""Tests of session states: active, paused by /stop, terminated if the bot is blocked."""

from __future__ import annotations

from telegram.ext import ExtBot

from bot.kernel import App
from bot.telegram.features import ServerFeatures
from bot.telegram.outbox import OutboxSender
from bot.telegram.rendering import Chunk
from memory.log.sessions import Address, SessionState
from memory.mail.mailbox import Mailbox
from memory.runtime.menu_cache import MenuCache
from memory.store.button_rows import OutgoingReply
from tests.support.bot_api.server import BotApiServer
from tests.support.fakes import Person
from tests.support.servers.model import ModelServer
from tests.support.servers.model_replies import Holds


async def get_state(app: App, address: Address) -> SessionState:
    return (await app.sessions.get_or_create(address)).state


async def test_session_is_paused_by_stop_until_the_next_message(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("thinking"))
    await person.sends("first")
    await person.sees("thinking")
    await person.sends("second")
    assert await get_state(app, person.address) is SessionState.ACTIVE
    await person.sends("/stop")
    await person.sees("Stopped. One waiting message")
    await app.runner.wait_until_idle(person.address.session_id)
    assert await get_state(app, person.address) is SessionState.PAUSED
    await person.says("/status")
    assert await get_state(app, person.address) is SessionState.PAUSED
    await person.says("third")
    assert await get_state(app, person.address) is SessionState.ACTIVE
    assert model.requests[-1].said[-2:] == ["second", "third"]


async def test_stop_without_held_messages_leaves_session_active(app: App, person: Person, model: ModelServer) -> None:
    model.script(Holds("thinking"))
    await person.sends("first")
    await person.sees("thinking")
    await person.says("/stop")
    assert await get_state(app, person.address) is SessionState.ACTIVE


async def test_session_ends_if_blocked_and_continues_after_unblocking(app: App) -> None:
    person = Person(app, Address("telegram", "1001"))
    await app.sessions.get_or_create(person.address)
    await send_refused_reply(app, 400, "Bad Request: message is too odd")
    assert await get_state(app, person.address) is SessionState.ACTIVE
    await send_refused_reply(app, 403, "Forbidden: bot was blocked by the user")
    assert await get_state(app, person.address) is SessionState.TERMINATED
    await person.says("/help")
    assert await get_state(app, person.address) is SessionState.ACTIVE
    await send_refused_reply(app, 403, "Forbidden: bot was blocked by the user")
    await person.says("hello")
    assert await get_state(app, person.address) is SessionState.ACTIVE


async def send_refused_reply(app: App, error_code: int, description: str) -> None:
    """Send a reply that Telegram refuses."""
    async with BotApiServer() as telegram:
        telegram.register_chat(1001)
        telegram.fault("sendMessage", error_code=error_code, description=description)
        async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
            mailbox = Mailbox(app.database, "telegram", app.clock)
            features = ServerFeatures(MenuCache(app.database, "telegram"), bot.id, app.clock)
            outbox = OutboxSender(bot, mailbox, app.runner.languages, features)
            await mailbox.outbox.answer("telegram:1001", OutgoingReply("telegram", "hello"))
            outbox.kick("telegram:1001")
            await outbox.close()
            assert await mailbox.outbox.list_unsent() == []


async def test_complete_preview_is_not_edited_again(app: App) -> None:
    async with BotApiServer() as telegram:
        telegram.register_chat(1001)
        async with ExtBot(BotApiServer.TOKEN, base_url=f"{telegram.url}/bot") as bot:
            preview = str((await bot.send_message(1001, "hello")).message_id)
            mailbox = Mailbox(app.database, "telegram", app.clock)
            features = ServerFeatures(MenuCache(app.database, "telegram"), bot.id, app.clock)
            outbox = OutboxSender(bot, mailbox, app.runner.languages, features)
            for text in ("hello", "hello again"):
                outbox.shown["telegram:1001"] = preview, Chunk("hello")
                await mailbox.outbox.answer("telegram:1001", OutgoingReply("telegram", text, preview_id=preview))
                outbox.kick("telegram:1001")
                await outbox.close()
            assert await mailbox.outbox.list_unsent() == []
        assert [call.params["text"] for call in telegram.list_calls("editMessageText")] == ["hello again"]
