"""Fixtures of the tests of the Bot API server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from telegram.ext import ExtBot

from tests.support.bot_api.server import BotApiServer

ANN, GROUP = 1001, -5005


@pytest.fixture
async def server() -> AsyncIterator[BotApiServer]:
    async with BotApiServer() as server:
        server.register_chat(ANN)
        server.register_chat(GROUP, chat_type="group", name="Friends")
        yield server


@pytest.fixture
async def bot(server: BotApiServer) -> AsyncIterator[ExtBot[None]]:
    async with ExtBot(BotApiServer.TOKEN, base_url=f"{server.url}/bot") as bot:
        yield bot
