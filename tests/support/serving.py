"""The Telegram bot in this process, over real HTTP against a local Telegram."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any
from unittest import mock

from bot.kernel import App
from bot.telegram.menu import Menu
from bot.telegram.service import run_telegram
from tests.conftest import OpenApp
from tests.support.bot_api.chats import BotMessage
from tests.support.bot_api.files import SentFile
from tests.support.bot_api.server import BotApiServer

ANN, STRANGER, GROUP = 1001, 2002, -100500
HEARS = {"llm_transcription_model": "whisper-1"}
"""The setting of a bot that understands recordings."""

Serve = Callable[..., AbstractAsyncContextManager[App]]
"""Runs the bot for as long as the context is open; keyword arguments are settings, menu: whether it is shown."""


def serving(start: OpenApp, telegram: BotApiServer) -> Serve:
    """Return a function that runs the bot of `start` at a local Telegram."""

    @contextlib.asynccontextmanager
    async def served(*, ready: bool = True, menu: bool = False, **settings: object) -> AsyncIterator[App]:
        values: dict[str, Any] = {
            "telegram_bot_token": BotApiServer.TOKEN,
            "telegram_api_url": telegram.url,
            "telegram_allowed_ids": str(ANN),
        }
        async with start(**(values | settings)) as app:
            service = asyncio.create_task(_run(app, menu=menu))
            if ready:
                await telegram.wait_for(lambda: telegram.polled or service.done())
            try:
                yield app
            finally:
                service.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await service

    return served


async def _run(app: App, *, menu: bool) -> None:
    if menu:
        await run_telegram(app)
    else:  # some dozen calls at each first start, which hardly any test is about
        with mock.patch.object(Menu, "publish"):
            await run_telegram(app)


def list_labels(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """Return the labels of the visible buttons in a chat."""
    return [button["text"] for _, button in _list_buttons(telegram, chat_id)]


def press_alone(telegram: BotApiServer, label: str, chat_id: int, user_id: int) -> int:
    """Press the newest button with this label on an ephemeral message and return the update id."""
    buttons = _list_buttons_under(telegram.list_ephemeral(chat_id, user_id))
    message_id, button = [one for one in buttons if one[1]["text"] == label][-1]
    return telegram.user_presses(button["callback_data"], message_id, chat_id, user_id, ephemeral=True)


def press(
    telegram: BotApiServer, label: str, chat_id: int = ANN, user_id: int | None = None, *, which: int = -1
) -> int:
    """Press the newest button that says so, or another one; user_id: who presses, in a group.

    The number of the update.
    """
    message_id, button = [one for one in _list_buttons(telegram, chat_id) if one[1]["text"] == label][which]
    return telegram.user_presses(button["callback_data"], message_id, chat_id, user_id or chat_id)


def _list_buttons(telegram: BotApiServer, chat_id: int) -> list[tuple[int, dict[str, str]]]:
    return _list_buttons_under(telegram.list_sent(chat_id))


def _list_buttons_under(messages: Iterable[BotMessage]) -> list[tuple[int, dict[str, str]]]:
    return [
        (message.message_id, button)
        for message in messages
        for row in (message.reply_markup or {}).get("inline_keyboard", [])
        for button in row
    ]


def list_toasts(telegram: BotApiServer) -> list[str | None]:
    """Return the toasts of pressed buttons, or None for a press that was only confirmed."""
    return [call.params.get("text") for call in telegram.list_calls("answerCallbackQuery") if call.ok]


def list_texts(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """Return the texts of the bot's messages in a chat, in their latest version."""
    return [message.text for message in telegram.list_sent(chat_id)]


async def wait_for_text(telegram: BotApiServer, text: str, chat_id: int = ANN) -> None:
    """Wait for a message of the bot that contains the text."""
    await telegram.wait_for(lambda: any(text in message for message in list_texts(telegram, chat_id)))


async def send_recording(telegram: BotApiServer, app: App, sends: SentFile, *, forwarded: bool = False) -> str:
    """Send a recording and return the bot's answer."""
    before = len(telegram.list_sent(ANN))
    telegram.user_says(chat_id=ANN, sends=sends, forwarded=forwarded)
    await telegram.wait_for(lambda: len(telegram.list_sent(ANN)) > before)
    await app.runner.wait_until_idle(f"telegram:{ANN}")
    return list_texts(telegram)[-1]
