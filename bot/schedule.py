"""What happens by the clock: the weekly consolidation (S4)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from memory.clock import Clock
    from memory.jobs import JobLog
    from memory.notices import PendingNotices
    from memory.weekly import WeeklyConsolidation

log = structlog.get_logger(__name__)

WEEKLY = "weekly consolidation"


class WeeklySchedule:
    """Runs the weekly consolidation at its hour, or at the start after a downtime, and reports to the owners."""

    def __init__(
        self,
        weekly: WeeklyConsolidation,
        jobs: JobLog,
        notices: PendingNotices,
        clock: Clock,
        zone: ZoneInfo,
        day: str,
        hour: int,
        *,
        tell: bool,
    ) -> None:
        self._weekly = weekly
        self._jobs = jobs
        self._notices = notices
        self._clock = clock
        self._tell = tell
        self._trigger = CronTrigger(day_of_week=day, hour=hour, timezone=zone)
        self._scheduler = AsyncIOScheduler(timezone=zone)
        self._first: asyncio.Task[bool] | None = None

    def start(self) -> None:
        """Begin with what a downtime missed. Only programs that stay do this."""
        # whatever the scheduler's own clock says, the job itself looks at whether it is due
        self._scheduler.add_job(self.run_if_due, self._trigger, id=WEEKLY, coalesce=True, misfire_grace_time=None)
        self._scheduler.start()
        self._first = asyncio.create_task(self.run_if_due(), name=WEEKLY)

    async def close(self) -> None:
        """End; a run that is not finished is rolled back, and due at the next start."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        if self._first is not None:
            self._first.cancel()
            await asyncio.gather(self._first, return_exceptions=True)

    async def run_if_due(self) -> bool:
        """Tidy everybody's memory if the hour has come since the last time; whether it was done."""
        now = self._clock()
        ran_at = await self._jobs.ran_at(WEEKLY)
        if ran_at is None or ran_at > now:
            # the first start, or a clock that was set back: the next hour that comes is the next time
            await self._jobs.claim(WEEKLY, ran_at, now)
            return False
        due = self._trigger.get_next_fire_time(ran_at, ran_at)
        if due is None or due > now or not await self._jobs.claim(WEEKLY, ran_at, now):
            return False
        for owner in await self._weekly.owners():
            try:
                done = await self._weekly.run(owner)
                if done.told and self._tell:
                    await self._notices.add(owner, done.told)
            except Exception:
                # the next week tries again; the others need not go without
                log.exception("weekly_consolidation_failed", owner=owner)
        log.info("weekly_consolidation_done")
        return True
