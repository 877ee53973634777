"""The Telegram bot in this process, over real HTTP against a local Telegram."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from bot.app import App
from bot.telegram.service import run_telegram
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conftest import OpenApp

ANN, STRANGER, GROUP = 1001, 2002, -100500

Serve = Callable[..., AbstractAsyncContextManager[App]]
"""Runs the bot for as long as the context is open; keyword arguments are settings."""


def serving(start: OpenApp, telegram: BotApiServer) -> Serve:
    """How to run the bot that `start` opens at a local Telegram."""

    @contextlib.asynccontextmanager
    async def served(*, ready: bool = True, **settings: object) -> AsyncIterator[App]:
        values: dict[str, Any] = {
            "telegram_bot_token": BotApiServer.TOKEN,
            "telegram_api_url": telegram.url,
            "telegram_allowed_ids": str(ANN),
        }
        async with start(**(values | settings)) as app:
            service = asyncio.create_task(run_telegram(app))
            if ready:
                await telegram.wait_for(lambda: telegram.polled or service.done())
            try:
                yield app
            finally:
                service.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await service

    return served


def texts(telegram: BotApiServer, chat_id: int = ANN) -> list[str]:
    """What the bot has said in a chat, as it stands now."""
    return [message.text for message in telegram.sent(chat_id)]
