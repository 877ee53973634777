"""What tests of the bot in Telegram need: a local Telegram, and the bot that serves it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from bot.telegram.service import run_telegram
from tests.support.servers.telegram import BotApiServer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from bot.app import App
    from tests.conftest import OpenApp

ALLOWED = 1001
"""The person who may use the bot where a test does not say otherwise."""


class Serve(Protocol):
    """Runs the bot for as long as the context is open; keyword arguments are settings."""

    def __call__(self, *, ready: bool = True, **settings: object) -> AbstractAsyncContextManager[App]: ...


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """A local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def serve(start: OpenApp, telegram: BotApiServer) -> Serve:
    """Runs the bot; ready: it polls before the context is entered."""

    @contextlib.asynccontextmanager
    async def served(*, ready: bool = True, **settings: object) -> AsyncIterator[App]:
        values: dict[str, Any] = {
            "telegram_bot_token": BotApiServer.TOKEN,
            "telegram_api_url": telegram.url,
            "telegram_allowed_ids": str(ALLOWED),
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
