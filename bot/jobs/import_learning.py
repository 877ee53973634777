"""Learning from imported conversations, beside the turns: asked for by a person, bounded by a day's tokens."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from bot.tasks import wait_at_most
from config.texts import _, ngettext, use_language
from memory.buttons import Button, Notice
from memory.errors import Postponed
from memory.imports.learning import request_learning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.languages import Languages
    from bot.tasks import BackgroundTasks
    from memory.imports.learning import ImportLearning
    from memory.store.database import Database
    from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

PAUSE = 10 * 60.0
"""Seconds after which it is looked for what the command line has asked for, and for the tokens of a new day."""


@dataclass(eq=False)
class BackgroundImportLearning:
    """Learns from what was asked for. quiet: waits until nobody waits for the model's answer.

    notices: where the owners are told with their next reply what waits for their word.
    """

    learning: ImportLearning
    database: Database
    notices: PendingNotices
    languages: Languages
    quiet: Callable[[], Awaitable[None]]
    _requested: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def start(self, tasks: BackgroundTasks) -> None:
        """Begin with what was asked for before. Only programs that stay do this."""
        self._requested.set()
        tasks.start(self._run(), "learning from imports")

    async def request(self, owner: str) -> int:
        """Have the newest imported conversations of an owner learned from; how many those are."""
        count = await request_learning(self.database, owner)
        self._requested.set()
        return count

    async def _run(self) -> None:
        while True:
            await wait_at_most(self._requested, PAUSE)
            self._requested.clear()
            try:
                await self.run_requested()
            except Exception:
                log.exception("learning_from_imports_failed")

    async def run_requested(self) -> None:
        """Learn from all that was asked for, as far as today's tokens go."""
        learned: Counter[str] = Counter()
        try:
            while True:
                await self.quiet()
                try:
                    done = await self.learning.step()
                except Postponed:
                    continue
                if done is None:
                    return
                learned[done.owner] += done.memories
        finally:
            for owner, count in learned.items():
                if count:
                    with use_language(await self.languages.of_chat(owner)):
                        await self.notices.add(owner, _notice(count))


def _notice(count: int) -> Notice:
    text = ngettext(
        "I learned {n} memory from your imported conversations. It is not used before you confirm it.",
        "I learned {n} memories from your imported conversations. They are not used before you confirm them.",
        count,
    )
    return Notice(
        text, ((Button(_("Show them"), "/memory unsure"), Button(_("Confirm them all"), "/confirm imported")),)
    )
