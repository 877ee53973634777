"""What is deleted after a while, and looked after: at the start of the program, and daily for as long as it runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from memory.errors import StoreError

if TYPE_CHECKING:
    from memory.backup.soundness import Soundness
    from memory.ledger.ledger import Ledger
    from memory.service.pruning import Pruning
    from memory.store.traces import Traces

log = structlog.get_logger(__name__)

DAY = 24 * 60 * 60.0
MINUTE = 60.0


class Housekeeping:
    """Removes old mail, entries whose undo has run out and traces of deletions; looks whether the database is whole.

    pause: seconds between two times; traces are looked for every minute.
    """

    def __init__(
        self, pruning: Pruning, ledger: Ledger, soundness: Soundness, traces: Traces, pause: float = DAY
    ) -> None:
        self._pruning = pruning
        self._ledger = ledger
        self._soundness = soundness
        self._traces = traces
        self._pause = pause
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        """Do it at a start. Raises StoreError where the database is damaged, unless it takes long to look."""
        if self._soundness.is_quick:
            await self._soundness.examine()
        await self.run()

    async def run(self) -> None:
        """Do it once. What goes wrong, such as a full disk, is logged: the next time does it."""
        try:
            await self._ledger.purge()
            pruned = await self._pruning.prune()
        except StoreError as error:
            log.warning("housekeeping_failed", reason=str(error))
        else:
            log.debug("housekeeping_done", rows=pruned)

    async def remove_traces(self) -> None:
        """Finish the deletions whose traces are left. What can't be done now is logged, and done the next time."""
        try:
            await self._traces.remove()
        except StoreError as error:
            log.warning("traces_left", reason=str(error))

    def start(self) -> None:
        """Do it daily from now on. Only programs that stay do this."""
        self._tasks = [
            asyncio.create_task(self._daily(), name="housekeeping"),
            asyncio.create_task(self._by_the_minute(), name="traces"),
        ]

    async def close(self) -> None:
        """End; a deletion that is not finished is rolled back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _by_the_minute(self) -> None:
        while True:
            await asyncio.sleep(MINUTE)
            await self.remove_traces()

    async def _daily(self) -> None:
        if not self._soundness.is_quick:
            await self._look()
        while True:
            await asyncio.sleep(self._pause)
            await self._look()
            await self.run()

    async def _look(self) -> None:
        try:
            await self._soundness.examine()
        except StoreError as error:
            log.error("database_damaged", reason=str(error))  # the sentence says it all
