"""What tells reminders at their hour, for as long as the program runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.jobs.dates import DateOffers
    from bot.jobs.scheduler import SteadyScheduler

log = structlog.get_logger(__name__)

PAUSE = 5.0
"""Seconds between two looks at what is due: one read of an index, whatever clock, zone or other process changed it."""
TELLING = "reminders"


class Reminding:
    """Has a channel tell what is due: at the start what a downtime missed, then as each hour comes.

    offers: what is offered for dates that come near; None: nothing is.
    """

    def __init__(self, offers: DateOffers | None) -> None:
        self._offers = offers
        self._scheduler: SteadyScheduler | None = None
        self._run: asyncio.Task[None] | None = None

    def start(self, tell: Callable[[], Awaitable[None]]) -> None:
        """Begin. tell: tells everything that is due in the channel; it is called again and again."""
        from bot.jobs.scheduler import Again, SteadyScheduler  # late: one message from the shell needs none

        async def begin() -> None:
            # a task of ours, which `close` can wait for
            if self._run is None or self._run.done():
                self._run = asyncio.create_task(self._once(tell), name=TELLING)

        self._scheduler = SteadyScheduler(PAUSE)
        self._scheduler.add_job(begin, Again(PAUSE), id=TELLING, coalesce=True, misfire_grace_time=None)
        self._scheduler.start()
        self._run = asyncio.create_task(self._once(tell), name=TELLING)

    async def close(self) -> None:
        """End; what was not told is due at the next start."""
        if self._scheduler is not None and self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        if self._run is not None:
            self._run.cancel()
            await asyncio.gather(self._run, return_exceptions=True)

    async def _once(self, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            await tell()
            if self._offers is not None:
                await self._offers.run_if_due()
        except Exception:
            # such as a full disk: it is still due at the next look
            log.exception("reminding_failed")
