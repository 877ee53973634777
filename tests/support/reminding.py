"""Helpers for tests of reminders. The test clock starts on Saturday 2026-02-07 12:15 UTC."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime

from bot.kernel import App
from bot.services import MemoryServices
from memory.log.sessions import Address
from memory.recurrence import Repeat
from memory.text.tokens import TokenCounter
from tests.support.fakes import FakeClock, Person
from tests.support.features import find_reminders
from tests.support.serving import ANN

CHAT = f"telegram:{ANN}"


async def serve_everybody(session_id: str) -> bool:
    """Allow every recipient."""
    return True


async def cancel_after(steps: int, app: App, work: Coroutine[object, object, object]) -> None:
    """Start work, and cancel it when the database has answered that many queries."""
    run = asyncio.create_task(work)
    for _ in range(steps):
        await asyncio.wait([run, asyncio.create_task(app.database.rows("SELECT 1"))], return_when="FIRST_COMPLETED")
    run.cancel()
    await asyncio.wait([run])


def get_memory(app: App) -> MemoryServices:
    return MemoryServices(app.settings, app.database, TokenCounter(), app.clock)


async def add_reminder(
    app: App, text: str, when: str, repeat: str = "once", session: str = CHAT, owner: str | None = None
) -> int:
    from bot.features.reminders.request import Rhythm

    reminders = find_reminders(app).reminders
    wish = reminders.read(session, text, when, Rhythm(Repeat(repeat)))
    return (await reminders.set(owner or session, session, wish)).id


async def format_reminders(app: App, chat: int = ANN) -> str:
    return await Person(app, Address("telegram", str(chat))).says("/reminders")


async def list_hours_around_clock_changes(
    clock: FakeClock, put: Callable[[], Awaitable[object]], count: Callable[[], Awaitable[int]]
) -> list[str]:
    """Return the UTC times at which `put` added a row in the three days around each clock change in Kyiv.

    The running bot calls `put` every minute, and `count` returns the number of rows in its table. The function also
    checks that `put` adds one row per day.
    """
    hours: list[str] = []
    for day in (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)):
        clock.now = day
        await put()  # Catch up on missed rows.
        before = await count()
        for _ in range(3 * 24 * 4):
            clock.forward(minutes=15)
            if await put():
                hours.append(f"{clock():%d %H:%M}")
        assert await count() == before + 3
    return hours
