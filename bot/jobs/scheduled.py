"""The maintenance of a running bot."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from bot.tasks import BackgroundTasks
from memory.errors import StoreError
from memory.ledger.ledger import Ledger
from memory.mail.pruning import Pruning
from memory.store.erasure import PendingErasures
from memory.store.integrity import IntegrityCheck

log = structlog.get_logger(__name__)

DAY_SECONDS = 24 * 60 * 60.0
MINUTE_SECONDS = 60.0


@dataclass(eq=False)
class Maintenance:
    """Removes old mail, entries that can't be restored any more, and traces of deletions. Checks the database."""

    pruning: Pruning
    ledger: Ledger
    integrity: IntegrityCheck
    traces: PendingErasures

    async def run_at_start(self) -> None:
        """Run at the start. Raises StoreError if the database is damaged. A long check is postponed."""
        if self.integrity.is_quick:
            await self.integrity.examine()
        await self.run()

    async def run(self) -> None:
        """Run once. Failures such as a full disk are logged, and the next run tries again."""
        try:
            await self.ledger.purge()
            pruned = await self.pruning.prune()
        except StoreError as error:
            log.warning("housekeeping_failed", reason=str(error))
        else:
            log.debug("housekeeping_done", rows=pruned)

    async def remove_traces(self) -> None:
        """Complete deletions that left traces. Failures are logged, and the next run tries again."""
        try:
            await self.traces.remove()
        except StoreError as error:
            log.warning("traces_left", reason=str(error))

    async def shrink(self) -> None:
        """Return much free space of the database to the file system. Failures are logged."""
        try:
            await self.traces.shrink()
        except StoreError as error:
            log.warning("database_not_shrunk", reason=str(error))

    def start(self, tasks: BackgroundTasks, quiet: Callable[[], Awaitable[None]]) -> None:
        """Run daily, and remove traces every minute. One-off commands don't call this.

        Args:
            quiet: waits until no user is waiting for the model.
        """
        at_once = not self.integrity.is_quick

        async def run_daily() -> None:
            await self._run_daily()
            await quiet()
            await self.shrink()

        tasks.every(DAY_SECONDS, run_daily, "housekeeping", at_once=at_once)
        tasks.every(MINUTE_SECONDS, self.remove_traces, "traces", at_once=False)

    async def _run_daily(self) -> None:
        try:
            await self.integrity.examine()
        except StoreError as error:
            log.error("database_damaged", reason=str(error))  # Its text says what to do
        await self.run()
