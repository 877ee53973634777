"""Words for tests about reminders: the tests' clock stands at Saturday 2026-02-07 12:15 UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.services import MemoryServices
from memory.log.sessions import Address
from memory.reminders.recurrence import Repeat
from memory.text.tokens import TokenCounter
from tests.support.fakes import Person
from tests.support.serving import ANN

if TYPE_CHECKING:
    from bot.app import App


CHAT = f"telegram:{ANN}"


async def everybody(session_id: str) -> bool:
    """Whom the bot may speak to."""
    return True


def memory_of(app: App) -> MemoryServices:
    return MemoryServices(app.settings, app.database, TokenCounter(), app.clock)


async def is_set(
    app: App, text: str, when: str, repeat: str = "once", session: str = CHAT, owner: str | None = None
) -> int:
    wish = app.memory.reminders.read(session, text, when, Repeat(repeat))
    return (await app.memory.reminders.set(owner or session, session, wish)).id


async def reminders_in(app: App, chat: int = ANN) -> str:
    return await Person(app, Address("telegram", str(chat))).says("/reminders")
