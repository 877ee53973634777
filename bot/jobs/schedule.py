"""What happens by the clock: the weekly consolidation (S4)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import structlog

from config.texts import N_, _, speaking
from memory.buttons import QuietLine

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from apscheduler.triggers.cron import CronTrigger

    from bot.jobs.scheduler import SteadyScheduler
    from bot.languages import Languages
    from memory.clock import Clock
    from memory.consolidation.weekly import WeeklyConsolidation
    from memory.service.jobs import JobLog
    from memory.service.notices import PendingNotices

log = structlog.get_logger(__name__)

WEEKLY = "weekly consolidation"
LOOK = 60.0
"""Seconds between two looks at the wall clock."""
_GIVEN_UP = N_("I could not tidy the memory: twice I was killed while I tried. I try again in a week.")


def next_hour(trigger: CronTrigger, moment: datetime) -> datetime:
    """The trigger's first hour after a moment.

    An hour that comes twice, as when summer time ends, counts once, the first time: CronTrigger alone would have the
    memory tidied twice that night. One that a day lacks comes an hour later.
    """
    found: datetime = trigger.get_next_fire_time(None, moment.astimezone(UTC) + datetime.resolution)
    return next_hour(trigger, found) if found.fold else found.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class WeeklyHour:
    """An hour of a day of the week, such as `sun`, in a zone."""

    day: str
    hour: int
    zone: ZoneInfo


class WeeklySchedule:
    """Runs the weekly consolidation at its hour, or at the start after a downtime.

    notices: where the owners are told what it did.
    """

    def __init__(
        self,
        weekly: WeeklyConsolidation,
        jobs: JobLog,
        notices: PendingNotices,
        languages: Languages,
        clock: Clock,
        at: WeeklyHour,
    ) -> None:
        self._weekly = weekly
        self._jobs = jobs
        self._notices = notices
        self._languages = languages
        self._clock = clock
        self._at = at
        self._scheduler: SteadyScheduler | None = None
        self._run: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin with what a downtime missed. Only programs that stay do this."""
        # late: one message from the shell needs no scheduler
        from bot.jobs.scheduler import SteadyScheduler

        self._scheduler = SteadyScheduler(LOOK)
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

    @cached_property
    def _trigger(self) -> CronTrigger:
        from apscheduler.triggers.cron import CronTrigger  # late, as above

        return CronTrigger(day_of_week=self._at.day, hour=self._at.hour, timezone=self._at.zone)

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
        if next_hour(self._trigger, ran_at) > now:
            return False
        await self._tidy()
        # last of all: a run that is killed is due at the next start, and finds done what it had done
        await self._jobs.mark(WEEKLY, now)
        log.info("weekly_consolidation_done")
        return True

    async def _tidy(self) -> None:
        for owner in await self._weekly.owners():
            try:
                async with self._jobs.attempt(f"{WEEKLY} of {owner}") as may:
                    done = await self._weekly.run(owner) if may else None
                if done is None:
                    log.error("weekly_consolidation_given_up", owner=owner)
                with speaking(await self._languages.of_chat(owner)):
                    summary = _(_GIVEN_UP) if done is None else done.summary
                    if summary:
                        await self._notices.add(owner, QuietLine(summary))
            except Exception:
                # the next week tries again; the others need not go without
                log.exception("weekly_consolidation_failed", owner=owner)
