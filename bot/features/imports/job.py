"""The background job that learns from imported conversations."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from bot.features.imports.learning import ImportLearning, request_learning
from bot.languages import Languages
from bot.tasks import BackgroundTasks
from config.texts import _, ngettext, use_language
from config.waiting import wait_at_most
from memory.buttons import Button, Notice
from memory.errors import Postponed
from memory.store.database import Database
from memory.store.notices import PendingNotices

log = structlog.get_logger(__name__)

IMPORT_POLL_SECONDS = 10 * 60.0
"""Seconds between checks for requests from the command line and for the token budget of a new day."""


@dataclass(eq=False)
class BackgroundImportLearning:
    """Learns from imported conversations on request.

    Args:
        quiet: Waits until no user is waiting for the model.
    """

    learning: ImportLearning
    database: Database
    notices: PendingNotices
    languages: Languages
    quiet: Callable[[], Awaitable[None]]
    _requested: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def start(self, tasks: BackgroundTasks) -> None:
        self._requested.set()
        tasks.start(self._run(), "learning from imports")

    async def request(self, owner: str) -> int:
        """Request learning from the newest imported conversations of an owner. Return their number."""
        count = await request_learning(self.database, owner)
        self._requested.set()
        return count

    async def _run(self) -> None:
        while True:
            await wait_at_most(self._requested, IMPORT_POLL_SECONDS)
            self._requested.clear()
            try:
                await self.run_requested()
            except Exception:
                log.exception("learning_from_imports_failed")

    async def run_requested(self) -> None:
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
            # Notify even after a failure, since the facts learned so far wait for confirmation.
            for owner, count in learned.items():
                if count:
                    with use_language(await self.languages.get_for_chat(owner)):
                        await self.notices.add(owner, _create_notice(count))


def _create_notice(count: int) -> Notice:
    text = ngettext(
        "I learned {n} memory from your imported conversations. I won't use it until you confirm it.",
        "I learned {n} memories from your imported conversations. I won't use them until you confirm them.",
        count,
    )
    return Notice(text, ((Button(_("Show them"), "/memory unsure"), Button(_("Confirm all"), "/confirm imported")),))
