"""What the tests of the whole Telegram bot need: a local Telegram, and the bot at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.servers.telegram import BotApiServer
from tests.support.serving import Serve, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.conftest import OpenApp


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """A local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def serve(start: OpenApp, telegram: BotApiServer) -> Serve:
    """Runs the bot for as long as the context is open; keyword arguments are settings."""
    return serving(start, telegram)


@pytest.fixture
def reminded_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is due is looked for again soon, since the tests' clock moves when it is told to."""
    monkeypatch.setattr("bot.jobs.scheduled.REMINDERS_PAUSE", 0.05)
