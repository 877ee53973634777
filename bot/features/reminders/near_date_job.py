"""The daily search for near dates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from bot.features.reminders.near_dates import NearDates
from memory.clock import Clock
from memory.errors import Postponed
from memory.runtime.jobs import JobLog

log = structlog.get_logger(__name__)

DATES = "dates that come near"
DATES_INTERVAL = timedelta(hours=23)
"""A little less than a day, so that delays don't add up."""


@dataclass(eq=False)
class DateOfferJob:
    """Searches once a day for dates in memory to offer a reminder for, no matter how often the program starts."""

    near: NearDates
    jobs: JobLog
    is_wanted: Callable[[str], bool]
    clock: Clock
    name: str = DATES

    async def run_if_due(self) -> bool:
        """Search if that wasn't done today. Return True if it was done now."""
        now = self.clock()
        last_run = await self.jobs.find_last_run(DATES)
        # If the clock was set back, a search is due.
        if last_run is not None and last_run <= now < last_run + DATES_INTERVAL:
            return False
        async with self.jobs.attempt(DATES) as is_allowed:
            if is_allowed:
                try:
                    await self.near.offer(self.is_wanted)
                except Postponed:
                    return False  # An answer needs the model first.
            else:
                log.error("near_dates_given_up", remedy="looked for again tomorrow")
        await self.jobs.mark(DATES, now)
        return True
