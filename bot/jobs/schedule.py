"""What happens by the clock: the weekly consolidation (S4)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from datetime import date
    from zoneinfo import ZoneInfo

    from apscheduler.schedulers.asyncio import AsyncIOScheduler

    from memory.clock import Clock
    from memory.consolidation.weekly import WeeklyConsolidation
    from memory.service.jobs import JobLog
    from memory.service.notices import PendingNotices

log = structlog.get_logger(__name__)

WEEKLY = "weekly consolidation"
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class WeeklyTrigger:
    """An hour of a day of the week in a zone.

    An hour that comes twice, as when summer time ends, counts once, the first time; APScheduler's own CronTrigger
    would count it twice. One that a day lacks comes an hour later.
    """

    def __init__(self, day: str, hour: int, zone: ZoneInfo) -> None:
        self._day = DAYS.index(day)
        self._hour = hour
        self._zone = zone

    def after(self, moment: datetime) -> datetime:
        """The first such moment after another."""
        today = moment.astimezone(self._zone)
        date = today.date() + timedelta(days=(self._day - today.weekday()) % 7)
        found = self._at(date)
        return found if found > moment else self._at(date + timedelta(days=7))

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """What APScheduler asks."""
        return self.after(previous_fire_time or now)

    def _at(self, day: date) -> datetime:
        return datetime.combine(day, time(self._hour), self._zone).astimezone(UTC)


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
        self._trigger = WeeklyTrigger(day, hour, zone)
        self._zone = zone
        self._scheduler: AsyncIOScheduler | None = None
        self._run: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what a downtime missed. Only programs that stay do this."""
        # late: one message from the shell needs no scheduler
        from apscheduler.schedulers.asyncio import AsyncIOScheduler
        from apscheduler.triggers.base import BaseTrigger

        BaseTrigger.register(WeeklyTrigger)
        self._scheduler = AsyncIOScheduler(timezone=self._zone)
        # whatever the scheduler's own clock says, the job itself looks at whether it is due
        self._scheduler.add_job(self._begin, self._trigger, id=WEEKLY, coalesce=True, misfire_grace_time=None)
        self._scheduler.start()
        log.info("weekly_consolidation_scheduled", at=self.next_run)
        self._run = asyncio.create_task(self._logged(), name=WEEKLY)

    async def close(self) -> None:
        """End; a run that is not finished is rolled back, and due at the next start."""
        if self._scheduler is not None and self._scheduler.running:
            self._scheduler.shutdown(wait=False)
        if self._run is not None:
            self._run.cancel()
            await asyncio.gather(self._run, return_exceptions=True)

    @property
    def next_run(self) -> datetime | None:
        """When the scheduler runs it next by itself; None while it does not run."""
        job = self._scheduler.get_job(WEEKLY) if self._scheduler is not None else None
        return job.next_run_time.astimezone(UTC) if job is not None else None

    async def _begin(self) -> None:
        """The scheduler's job. It leaves the run to a task of ours, which `close` can wait for."""
        if self._run is None or self._run.done():
            self._run = asyncio.create_task(self._logged(), name=WEEKLY)

    async def _logged(self) -> None:
        try:
            await self.run_if_due()
        except Exception:
            # such as a full disk: the next start finds it due
            log.exception("weekly_consolidation_failed")

    async def run_if_due(self) -> bool:
        """Tidy everybody's memory if the hour has come since the last time; whether it was done."""
        now = self._clock()
        ran_at = await self._jobs.ran_at(WEEKLY)
        if ran_at is None or ran_at > now:
            # the first start, or a clock that was set back: the next hour that comes is the next time
            await self._jobs.mark(WEEKLY, now)
            return False
        if self._trigger.after(ran_at) > now:
            return False
        await self._tidy()
        # last of all: a run that is killed is due at the next start, and finds done what it had done
        await self._jobs.mark(WEEKLY, now)
        log.info("weekly_consolidation_done")
        return True

    async def _tidy(self) -> None:
        for owner in await self._weekly.owners():
            try:
                done = await self._weekly.run(owner)
                if done.summary and self._tell:
                    await self._notices.add(owner, done.summary)
            except Exception:
                # the next week tries again; the others need not go without
                log.exception("weekly_consolidation_failed", owner=owner)
