"""What is offered each day for remembered dates that come near."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memory.clock import Clock
    from memory.reminders.dates import NearDates
    from memory.service.jobs import JobLog

log = structlog.get_logger(__name__)

DATES = "dates that come near"
EVERY = timedelta(hours=23)
"""A little less than a day, so that it does not wander through the day."""


class DateOffers:
    """Looks once a day, however often the program is started, for dates that a reminder may be offered for.

    wanted: whether a session is offered anything.
    """

    def __init__(self, near: NearDates, jobs: JobLog, wanted: Callable[[str], bool], clock: Clock) -> None:
        self._near = near
        self._jobs = jobs
        self._wanted = wanted
        self._clock = clock
        self._looked_at: datetime | None = None

    async def run_if_due(self) -> bool:
        """Look, if that was not done today; whether it was."""
        now = self._clock()
        before = self._looked_at or await self._jobs.ran_at(DATES)
        self._looked_at = before
        if before is not None and before <= now < before + EVERY:
            return False
        async with self._jobs.attempt(DATES) as may:
            if may:
                await self._near.offer(self._wanted)
            else:
                log.error("near_dates_given_up", remedy="looked for again tomorrow")
        await self._jobs.mark(DATES, now)
        self._looked_at = now
        return True
