"""Fixtures of the Telegram tests: a local Telegram and the bot."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timedelta, tzinfo

import pytest

from bot.telegram import bursts, inbox, outbox, sources
from config.waiting import Backoff
from tests.conftest import OpenApp
from tests.support.bot_api.server import BotApiServer
from tests.support.serving import Serve, serving


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry after a twentieth of the usual delays."""
    whole = Backoff.next
    # but not before the server says that it may be
    monkeypatch.setattr(Backoff, "next", lambda self, at_least=0: max(at_least, whole(self) / 20))
    for module, name in (
        (sources, "TOKEN_RETRY_SECONDS"),
        (inbox, "SWEEP_INTERVAL_SECONDS"),
        (outbox, "CLOSING_SECONDS"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name) / 20)
    for name in ("COMPLETE_SECONDS", "OPEN_SECONDS", "CONTINUED_SECONDS"):
        monkeypatch.setattr(bursts, name, 0.0)


@pytest.fixture
async def telegram() -> AsyncIterator[BotApiServer]:
    """Run a local Telegram."""
    async with BotApiServer() as server:
        yield server


@pytest.fixture
def serve(start: OpenApp, telegram: BotApiServer) -> Serve:
    """Return a function that runs the bot while its context is open. Keyword arguments are settings."""
    return serving(start, telegram)


class WallClock:
    """The offset of the machine's clock as APScheduler reads it."""

    def __init__(self) -> None:
        self.off = timedelta()

    def forward(self, **by: float) -> None:
        """Move the clock forward or back by `timedelta(**by)`."""
        self.off += timedelta(**by)


@pytest.fixture
def wall_clock(monkeypatch: pytest.MonkeyPatch) -> WallClock:
    """Return the clock that APScheduler reads. The program itself reads the test clock."""
    wall = WallClock()

    class Read(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # the library compares its own
            return datetime.now(tz) + wall.off

    for module in ("apscheduler.schedulers.base", "bot.jobs.scheduler", "bot.tasks"):
        monkeypatch.setattr(f"{module}.datetime", Read)
    return wall


@pytest.fixture
def reminded_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for due reminders often, because the test clock is moved by hand."""
    monkeypatch.setattr("bot.jobs.due.DUE_INTERVAL_SECONDS", 0.05)
