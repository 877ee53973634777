"""Fixtures of the tests in Chromium, which are skipped if it isn't installed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from bot.kernel import App
from tests.conftest import OpenApp
from tests.features.page.browser.browsing import CHROMIUM, launch_chromium
from tests.support.bot_api.server import BotApiServer
from tests.support.servers.model import ModelServer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    """Start one Chromium for all tests of a module. The other fixtures here run in its event loop."""
    if CHROMIUM is None:
        pytest.skip("Chromium isn't installed: apt-get install chromium")
    async with launch_chromium() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def model() -> AsyncIterator[ModelServer]:
    """Run a scripted model."""
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def app(start: OpenApp) -> AsyncIterator[App]:
    """Open an App with the scripted model."""
    async with start() as running:
        yield running
